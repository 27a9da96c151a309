"""What needs no cluster: the commands about packages, test suites and repositories."""

from collections.abc import Callable

from tests.unit.record.commands.cases import Case, Cases, lines_of
from tests.unit.record.commands.console import NARROW, PIPE, run
from tests.unit.record.commands.site import Site

_ONCE = (PIPE,)


def _once(line: str, most: int = 60) -> Case:
    return Case(line, most=most, modes=_ONCE)


def _writes(
    line: str, path: str = "", typed: str = "", modes: tuple[str, ...] = (PIPE, NARROW)
) -> Case:
    after = lines_of(path) if path else None
    return Case(line, typed=typed, files=True, after=after, modes=modes)


def _did(*lines: str) -> Callable[[Site], None]:
    def prepare(site: Site) -> None:
        (site.folder / "dist").mkdir(exist_ok=True)
        for line in lines:
            ran = run(line)
            assert ran.code == 0, ran

    return prepare


_ARCHIVES = ("package create teapot -d dist", "package create newer -d dist")
_REPOSITORY = (*_ARCHIVES, "repo index dist", "repo add own file://<folder>/dist")
NEW: Cases = (
    "package new",
    _writes("package new web", "operator"),
    _writes("package new", typed="web\n" + "\n" * 12),
    _writes("package new web --folder web --app-version 1.27.0 --description 'Serves pages.'"),
    _writes("package new web --folder teapot"),
    _writes("package new Web_"),
    _writes("package new web --operator-version one"),
)
ADD_TASK: Cases = (
    "package add task",
    _writes("package add task net --resource service --folder teapot", "teapot/operator.yaml"),
    _writes("package add task pot --folder teapot", modes=_ONCE),
    _writes("package add task extras --kind Toggle --toggle ABSENT --resource x --folder teapot",
            modes=_ONCE),
    _writes("package add task a --kind Brew --folder teapot", modes=_ONCE),
    _writes("package add task a --folder absent", modes=_ONCE),
)  # fmt: skip
ADD_PLAN: Cases = (
    "package add plan",
    _writes("package add plan backup --step copy=pot --folder teapot", "teapot/operator.yaml"),
    _writes("package add plan backup --step copy=absent --folder teapot", modes=_ONCE),
    _writes("package add plan deploy --step copy=pot --folder teapot", modes=_ONCE),
    _writes("package add plan backup --step copy --folder teapot", modes=_ONCE),
)
ADD_PARAMETER: Cases = (
    "package add parameter",
    _writes(
        "package add parameter servers --type integer --default 3 --folder teapot",
        "teapot/params.yaml",
    ),
    _writes("package add parameter CUPS --folder teapot", modes=_ONCE),
    _writes("package add parameter n --type integer --default x --folder teapot", modes=_ONCE),
)
ADD_MAINTAINER: Cases = (
    "package add maintainer",
    _writes("package add maintainer Ada ada@example.com --folder teapot", "teapot/operator.yaml"),
    _writes("package add maintainer Ada --folder teapot", modes=_ONCE),
)
ADD_TEMPLATE: Cases = (
    "package add template",
    _writes("package add template page --task app --folder teapot", "teapot/templates/page.yaml"),
    _writes("package add template pot --folder teapot", modes=_ONCE),
)
EXAMPLES = ("first-operator", "galera", "lifecycle/v1", "lifecycle/v2", "parent-child", "pipe-page")
PARAMS_IMPORT: Cases = (
    "package params import",
    _writes("package params import values.schema.json teapot", "teapot/params.yaml"),
    _writes("package params import values.schema.json teapot --dry-run", modes=_ONCE),
    _writes("package params import values.yaml teapot", modes=_ONCE),
    _writes("package params import absent teapot", modes=_ONCE),
    _writes("package params import values.schema.json absent", modes=_ONCE),
)
RENDER: Cases = (
    "package render",
    "package render teapot -p TEA=mint",
    "package render examples/first-operator",
    _once("package render examples/lifecycle/v2 --plan repair", most=90),
    _once("package render teapot -p TEA=mint -o yaml"),
    _once("package render teapot -p TEA=mint -o json"),
    _once("package render teapot"),
    _once("package render teapot -p TEA=mint --plan absent"),
    _once("package render teapot -p TEA=mint --step absent"),
    _once("package render mistaken"),
    _once("package render unreadable"),
    _once("package render absent"),
)
DOCS: Cases = (
    "package docs teapot",
    _once("package docs examples/lifecycle/v2"),
    "package docs absent",
    "package docs unreadable",
)
CREATE: Cases = (
    "package create",
    _writes("package create teapot"),
    _writes("package create teapot -d dist"),
    _writes("package create mistaken"),
    _writes("package create mistaken -o json", modes=_ONCE),
    _writes("package create absent", modes=_ONCE),
    _writes("package create values.yaml", modes=_ONCE),
)
LIST_TASKS: Cases = (
    "package list tasks",
    "package list tasks examples/lifecycle/v2",
    _once("package list tasks teapot -o yaml"),
    _once("package list tasks absent"),
)
LIST_PLANS: Cases = (
    "package list plans",
    "package list plans examples/lifecycle/v2",
    _once("package list plans examples/lifecycle/v2 -t", most=25),
    _once("package list plans teapot -o json"),
    _once("package list plans unreadable"),
)
LIST_PARAMETERS: Cases = (
    "package list parameters",
    "package list parameters examples/lifecycle/v2",
    _once("package list parameters teapot -d"),
    _once("package list parameters teapot --required"),
    _once("package list parameters teapot --names"),
    _once("package list parameters teapot -o yaml"),
    _once("package list params teapot"),
)
VERIFY: Cases = (
    "package verify",
    "package verify teapot",
    *(_once(f"package verify examples/{name}") for name in EXAMPLES),
    "package verify mistaken",
    "package verify unreadable",
    "package verify empty",
    _once("package verify absent"),
    # BTO-43: verifying a regular file crashed.
    _once("package verify values.yaml"),
    _once("package verify teapot --param-checks all"),
    _once("package verify teapot -o json"),
    _once("package verify teapot --param-checks colour"),
    _once("package verify mistaken -o json", most=100),
    _once("package verify mistaken -o yaml"),
    _once("package verify mistaken -o sarif"),
    _writes("package verify mistaken --fix", modes=_ONCE),
)  # fmt: skip
TEST: Cases = (
    "test absent",
    "test teapot",
    "test examples/first-operator --render-only",
    _writes("test --new teapot", "teapot/tests"),
    _once("test --report purple examples/first-operator"),
    _once("test --test absent --render-only examples/first-operator"),
)
SEARCH: Cases = (
    Case("search ''", files=True, before=_did(*_REPOSITORY), modes=(PIPE, NARROW)),
    Case("search tea -a", files=True, before=_did(*_REPOSITORY), modes=_ONCE),
    Case("search tea -o yaml", files=True, before=_did(*_REPOSITORY), modes=_ONCE),
    Case("search coffee", files=True, before=_did(*_REPOSITORY), modes=_ONCE),
    "search",
    _once("search tea"),
    _once("search tea --repo absent"),
)
REPO: dict[str, Cases] = {
    "repo add": (
        "repo add",
        Case("repo add own file://<folder>/dist", files=True,
             before=_did(*_ARCHIVES, "repo index dist"), modes=_ONCE),
        Case("repo add away http://127.0.0.1:1/", files=True, modes=_ONCE),
        Case("repo add away http://127.0.0.1:1/ --skip-check", files=True, modes=_ONCE),
        Case("repo add own ftp://example.org", files=True, modes=_ONCE),
        Case("repo add own file://<folder>/absent", files=True, modes=_ONCE),
    ),
    "repo list": (
        Case("repo list", files=True, before=_did(*_REPOSITORY), modes=(PIPE, NARROW)),
        Case("repo list -o yaml", files=True, before=_did(*_REPOSITORY), modes=_ONCE),
        "repo list",
    ),
    "repo context": (
        Case("repo context own", files=True, before=_did(*_REPOSITORY), modes=_ONCE),
        "repo context absent",
    ),
    "repo remove": (
        Case("repo remove own", files=True, before=_did(*_REPOSITORY), modes=_ONCE),
        "repo remove absent",
        "repo remove",
    ),
    "repo index": (
        "repo index",
        Case("repo index dist", files=True, before=_did(*_ARCHIVES), modes=_ONCE,
             after=lines_of("dist/index.yaml")),
        Case("repo index dist", files=True, before=_did(*_ARCHIVES, "repo index dist"),
             modes=_ONCE, about="a second time"),
        Case("repo index empty", files=True, modes=_ONCE),
        Case("repo index absent", files=True, modes=_ONCE),
    ),
    "repo serve": ("repo serve", _once("repo serve absent")),
}  # fmt: skip
COMMANDS: dict[str, Cases] = {
    "package new": NEW,
    "package add task": ADD_TASK,
    "package add plan": ADD_PLAN,
    "package add parameter": ADD_PARAMETER,
    "package add maintainer": ADD_MAINTAINER,
    "package add template": ADD_TEMPLATE,
    "package params import": PARAMS_IMPORT,
    "package render": RENDER,
    "package docs": DOCS,
    "package create": CREATE,
    "package list tasks": LIST_TASKS,
    "package list plans": LIST_PLANS,
    "package list parameters": LIST_PARAMETERS,
    "package list params": ("package list params teapot",),
    "package verify": VERIFY,
    "test": TEST,
    "search": SEARCH,
    **REPO,
}
