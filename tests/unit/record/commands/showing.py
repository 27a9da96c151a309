"""What shows Instances: `get`, `describe`, `plan status`, `plan history`, `plan wait`, `why`."""

from tests.unit.record.commands.cases import Case, Cases
from tests.unit.record.commands.console import PIPE
from tests.unit.record.commands.progress import let_run
from tests.unit.record.commands.site import Site

_IN_ONE_MODE = (PIPE,)
NAMES = ("busy", "shop", "idle", "failed", "paused", "waiting", "shop-web", "orphans", "stray")


def _data(line: str, most: int = 60) -> Case:
    """Return a case whose output is for scripts: no terminal is looked at."""
    return Case(line, most=most, modes=_IN_ONE_MODE)


def _forbidden(plural: str) -> "Case":
    def refuse(site: Site) -> None:
        site.api.refusals["GET", plural] = (403, f"{plural} is forbidden: no rights")

    return Case(f"get {plural}", before=refuse, about=f"who may not read {plural}")


GET: Cases = (
    "get",
    "get instances",
    "get operators",
    "get operatorversions",
    "get all",
    "get instance idle",
    "get instance idle busy",
    _data("get instances -o table"),
    _data("get instances -o wide"),
    _data("get instances -A"),
    _data("get instances -A -o wide"),
    "get all -o tree",
    _data("get instances -A -o tree"),
    _data("get all -n empty -o json"),
    _data("get all -n empty -o wide"),
    _data("get all -o wide"),
    _data("get all -o name"),
    _data("get instance failed -o yaml", most=200),
    _data("get instance idle -o json"),
    _data("get instances -o yaml"),
    _data("get operatorversions web-2.1.0-0.3.0 -o yaml"),
    _data("get operators -o yaml"),
    _data("get instances -o jsonpath='{.items[*].metadata.name}'"),
    _data("get instances -o custom-columns=NAME:.metadata.name,PLAN:.status.lastRun.plan"),
    _data("get instances --headers=false"),
    _data("get instances -l kudo.dev/operator=shop"),
    _data("get instances -l a=b"),
    _data("get instances -n empty"),
    _data("get all -n empty"),
    "get objects --instance idle",
    "get objects --instance busy",
    "get objects --instance waiting",
    "get objects --instance orphans",
    "get objects --instance shop",
    _data("get objects --instance orphans -o table"),
    _data("get objects --instance orphans -o wide"),
    _data("get objects --instance orphans -o name"),
    _data("get objects --instance orphans -o json"),
    _data("get objects --instance orphans -o yaml"),
    _data("get objects"),
    _data("get objects --instance nobody"),
    _data("get instance nobody"),
    _data("get instances nobody idle"),
    _data("get pots"),
    _data("get instances -o purple"),
    _forbidden("instances"),
)
DESCRIBE: Cases = (
    "describe",
    *(f"describe instance {name}" for name in NAMES[:2]),
    *(_data(f"describe instance {name}", most=150) for name in NAMES[2:]),
    _data("describe --instance idle -o json"),
    _data("describe instance paused -o yaml"),
    _data("describe instance nobody"),
    _data("describe operator web"),
    _data("describe instance idle -o purple"),
)
STATUS: Cases = (
    "plan status",
    *(f"plan status --instance {name}" for name in NAMES[:5]),
    *(_data(f"plan status --instance {name}") for name in NAMES[5:]),
    "plan status --instance idle --all",
    "plan status --instance idle --plan deploy",
    "plan status --instance idle --plan absent",
    "plan status --instance idle --wait",
    Case("plan status --instance waiting --wait", before=let_run("waiting", "deploy", "COMPLETE")),
    Case("plan status --instance busy --wait", before=let_run("busy", "flaky", "FATAL_ERROR")),
    _data("plan status --instance failed -o yaml"),
    _data("plan status --instance idle -o json"),
    _data("plan status --instance idle --plan backup -o yaml"),
    _data("plan status --instance nobody"),
)
HISTORY: Cases = (
    "plan history",
    *(f"plan history --instance {name}" for name in NAMES[:3]),
    *(_data(f"plan history --instance {name}") for name in NAMES[3:]),
    "plan history --instance idle -o table",
    "plan history --instance failed -o wide",
    _data("plan history --instance idle -o name"),
    _data("plan history --instance failed -o yaml"),
    _data("plan history --instance idle -o json"),
    _data("plan history --instance nobody"),
)
WAIT: Cases = (
    "plan wait",
    "plan wait --instance idle",
    "plan wait --instance failed",
    Case("plan wait --instance waiting", before=let_run("waiting", "deploy", "COMPLETE")),
    Case("plan wait --instance busy", before=let_run("busy", "flaky", "FATAL_ERROR")),
    _data("plan wait --instance waiting --wait-time 1"),
    _data("plan wait --instance nobody"),
    _data("plan wait --instance idle --wait-time soon"),
)
WHY: Cases = (
    "why",
    *(f"why {name}" for name in NAMES[:4]),
    *(_data(f"why {name}") for name in NAMES[4:]),
    _data("why failed -o json"),
    _data("why -n empty -o yaml"),
    _data("why -n empty"),
    _data("why nobody"),
    _data("why idle busy"),
)
COMMANDS: dict[str, Cases] = {
    "get": GET,
    "describe": DESCRIBE,
    "plan status": STATUS,
    "plan history": HISTORY,
    "plan wait": WAIT,
    "why": WHY,
}
