"""What changes Instances: from `install` to `uninstall`, and the commands about runs."""

import os
import shlex
from collections.abc import Callable

from tests.unit.record.commands.cases import Case, Cases, lines_of
from tests.unit.record.commands.console import NARROW, PIPE, run
from tests.unit.record.commands.progress import let_go, let_installed_run, let_pause, let_run
from tests.unit.record.commands.site import Site

_ONCE = (PIPE,)
_AT_TWO = (PIPE, NARROW)
"""Results are lines that no terminal wraps."""


def _once(line: str, most: int = 60) -> Case:
    return Case(line, most=most, modes=_ONCE, files=False)


def _denied(method: str, plural: str) -> Callable[[Site], None]:
    def refuse(site: Site) -> None:
        site.api.refusals[method, plural] = (403, f"{plural} is forbidden: no rights")

    return refuse


def _webhook_away(site: Site) -> None:
    site.api.rules.reachable = False


_TEA = "install ./teapot --instance tea -p TEA=mint"


def _installed(site: Site) -> None:
    let_installed_run("COMPLETE")(site)
    assert run(f"{_TEA} --wait").code == 0
    site.forget_requests()


def _newer(site: Site) -> None:
    _installed(site)
    assert run("install ./newer --skip-instance").code == 0
    site.forget_requests()


def _edited(command: str, answer: str = "", *, about: str, shows: bool = False) -> Case:
    """Return a case of `update --edit` with a command for sed as the editor.

    Args:
        command: The command.
        answer: That to the question.
        about: Told beside the command line.
        shows: Whether the file that is edited is recorded.
    """

    def choose(_: Site) -> None:
        script = f'cp "$0" edited.yaml; sed -i "{command}" "$0"'
        os.environ["EDITOR"] = f"sh -c {shlex.quote(script)}"

    after = lines_of("edited.yaml") if shows else None
    line, typed = "update --instance idle --edit", f"{answer}\n"
    return Case(
        line, typed=typed, before=choose, about=about, files=True, modes=(NARROW,), after=after
    )


INSTALL: Cases = (
    "install",
    _TEA,
    "install ./teapot --instance tea -P values.yaml",
    Case(f"{_TEA} --wait", before=let_installed_run("IN_PROGRESS", "COMPLETE")),
    Case(f"{_TEA} --wait", before=let_installed_run("ERROR", "FATAL_ERROR"), about="it fails"),
    "install ./examples/parent-child",
    _once(f"{_TEA} --dry-run=client"),
    _once(f"{_TEA} --dry-run=server"),
    _once(f"{_TEA} --dry-run=client -o yaml", most=100),
    _once(f"{_TEA} --dry-run=client -o json"),
    _once("install ./teapot --skip-instance"),
    _once(f"{_TEA} -n new"),
    _once(f"{_TEA} -n new --create-namespace"),
    _once(f"{_TEA} --service-account brewer"),
    _once(f"{_TEA} --create-service-account"),
    _once("install web --in-cluster --instance another"),
    # BTO-25, BTO-26: names, values and unknown parameters were found after objects were created.
    _once("install ./teapot"),
    _once(f"{_TEA} -p CUPS=many"),
    _once(f"{_TEA} -p SIZE=huge"),
    _once(f"{_TEA} -p MILK=oat"),
    _once(f"{_TEA} -p CUPS"),
    _once("install ./teapot --instance Tea -p TEA=mint"),
    _once("install ./teapot --instance idle -p TEA=mint"),
    _once("install ./absent"),
    _once("install absent"),
    _once("install ./mistaken"),
    _once("install ./unreadable"),
    _once("install ./empty"),
    _once("install values.yaml"),
    _once("install ./teapot -P absent.yaml"),
    _once("install ./teapot ./newer"),
    _once("install ./teapot --colour blue"),
    _once(f"{_TEA} --wait-time soon"),
    _once(f"{_TEA} --dry-run=maybe"),
    Case(_TEA, before=_installed, about="a second time"),
    Case(f"{_TEA} --upgrade", before=_installed, modes=_ONCE, about="nothing differs"),
    Case("install ./newer --instance tea --upgrade", before=_installed),
    Case(_TEA, before=_denied("POST", "instances"), modes=_ONCE, about="without the right"),
    Case(_TEA, before=_webhook_away, modes=_ONCE, about="the webhook does not answer"),
)
UPDATE: Cases = (
    "update",
    "update --instance idle -p REPLICAS=2",
    Case(
        "update --instance idle -p REPLICAS=2 --wait",
        before=let_run("idle", "deploy", "IN_PROGRESS", "COMPLETE"),
    ),
    Case(
        "update --instance idle -p REPLICAS=2 --wait",
        before=let_run("idle", "deploy", "ERROR", "FATAL_ERROR"),
        about="it fails",
    ),
    "update --instance idle -p REPLICAS=2 --dry-run=client",
    "update --instance idle -p REPLICAS=2 --dry-run=server",
    _once("update --instance idle -p REPLICAS=2 --dry-run=client -o yaml"),
    "update --instance idle -p REPLICAS=3",
    "update --instance paused -p REPLICAS=4",
    "update --instance idle --service-account another",
    _once("update --instance idle"),
    _edited("s/^REPLICAS.*/REPLICAS: 2/", "y", about="at a terminal: y", shows=True),
    _edited("s/^REPLICAS.*/REPLICAS: 2/", "n", about="at a terminal: n"),
    _edited("s/^REPLICAS.*/REPLICAS: 3/", about="nothing is edited"),
    _once("update --instance idle --edit"),
    _once("update --instance idle --edit -p REPLICAS=2"),
    _once("update --instance idle -p REPLICAS=many"),
    _once("update --instance idle -p SIZE=large"),
    _once("update --instance idle -p ABSENT=1"),
    _once("update --instance busy -p REPLICAS=2"),
    _once("update --instance stray -p REPLICAS=2"),
    _once("update --instance nobody -p REPLICAS=2"),
    _once("update --instance idle -P absent.yaml"),
    Case(
        "update --instance idle -p REPLICAS=2", before=_denied("PATCH", "instances"), modes=_ONCE,
        about="without the right",
    ),
)  # fmt: skip
UPGRADE: Cases = (
    "upgrade",
    Case("upgrade ./newer --instance tea", before=_installed),
    Case("upgrade ./newer --instance tea --dry-run=client", before=_installed),
    Case("upgrade ./newer --instance tea -p CUPS=3", before=_installed, modes=_ONCE),
    Case("upgrade ./teapot --instance tea", before=_installed, modes=_ONCE),
    Case("upgrade ./teapot --instance idle", modes=_ONCE),
    Case("upgrade ./mistaken --instance tea", before=_installed, modes=_ONCE),
    _once("upgrade ./newer --instance nobody"),
    _once("upgrade ./newer"),
    Case("upgrade --to 0.4.0 --instance tea", before=_newer, modes=_ONCE),
    Case("upgrade --to 0.4.0 --instance tea --dry-run=client", before=_newer, modes=_ONCE),
    Case("upgrade --to 0.3.0 --instance tea", before=_newer, modes=_ONCE),
    Case("upgrade --to 0.5.0 --instance tea", before=_newer, modes=_ONCE),
    _once("upgrade ./newer --to 0.4.0 --instance tea"),
)
UNINSTALL: Cases = (
    "uninstall",
    "uninstall --instance idle",
    Case("uninstall --instance idle --wait", before=let_go),
    Case("uninstall --instance shop --wait", before=let_go),
    "uninstall --instance idle --dry-run=client",
    "uninstall --instance shop --dry-run=client",
    _once("uninstall --instance nobody"),
    _once("uninstall --instance idle --all-unused"),
    "uninstall --all-unused --dry-run=client",
    Case("uninstall --all-unused", typed="y\n", about="at a terminal: y"),
    Case("uninstall --all-unused", typed="n\n", modes=(NARROW,), about="at a terminal: n"),
    _once("uninstall --all-unused --yes"),
    _once("uninstall --all-unused --yes -n empty"),
)
SUSPEND: Cases = (
    "suspend",
    "suspend --instance idle",
    "suspend --instance busy",
    "suspend --instance paused",
    "suspend --instance shop --children",
    "suspend --instance idle --dry-run=client",
    _once("suspend --instance idle --dry-run=server -o yaml"),
    Case("suspend --instance idle --wait", before=let_pause),
    _once("suspend --instance shop-web"),
    _once("suspend --instance nobody"),
)
RESUME: Cases = (
    "resume",
    "resume --instance paused",
    "resume --instance idle",
    "resume --instance shop --children",
    "resume --instance paused --dry-run=client",
    Case("resume --instance paused --wait", before=let_run("paused", "deploy", "COMPLETE")),
    _once("resume --instance nobody"),
)
ADOPT: Cases = (
    "adopt",
    "adopt --instance idle",
    "adopt --instance idle --dry-run=client",
    _once("adopt --instance busy"),
    _once("adopt --instance nobody"),
)
PRUNE: Cases = (
    "prune",
    "prune --instance idle",
    "prune --instance orphans --dry-run=client",
    Case("prune --instance orphans", typed="y\n", about="at a terminal: y"),
    Case("prune --instance orphans", typed="n\n", modes=(NARROW,), about="at a terminal: n"),
    _once("prune --instance orphans --yes"),
    _once("prune --instance orphans --yes --dry-run=server -o yaml"),
    _once("prune --instance nobody"),
)
TRIGGER: Cases = (
    "plan trigger",
    "plan trigger --instance idle --name backup",
    Case(
        "plan trigger --instance idle --name backup --wait",
        before=let_run("idle", "backup", "IN_PROGRESS", "COMPLETE"),
    ),
    Case(
        "plan trigger --instance idle --name backup --wait",
        before=let_run("idle", "backup", "IN_PROGRESS", "ERROR", "FATAL_ERROR"),
        about="it fails",
    ),
    "plan trigger --instance idle --name backup --dry-run=client",
    "plan trigger --instance idle --name backup --dry-run=server",
    "plan trigger --instance paused --name backup",
    _once("plan trigger --instance idle --name cleanup"),
    _once("plan trigger --instance idle --name absent"),
    _once("plan trigger --instance busy --name backup"),
    _once("plan trigger --instance busy --name flaky"),
    _once("plan trigger --instance stray --name deploy"),
    _once("plan trigger --instance idle"),
    _once("plan trigger --instance nobody --name deploy"),
)
RETRY: Cases = (
    "plan retry",
    "plan retry --instance failed",
    "plan retry --instance failed --dry-run=client",
    "plan retry --instance failed --from phase1.last",
    Case("plan retry --instance failed --wait", before=let_run("failed", "broken", "COMPLETE")),
    _once("plan retry --instance failed --from absent.step"),
    _once("plan retry --instance failed --name deploy"),
    _once("plan retry --instance idle"),
    _once("plan retry --instance busy"),
    _once("plan retry --instance nobody"),
)
CANCEL: Cases = (
    "plan cancel",
    "plan cancel --instance busy",
    "plan cancel --instance paused",
    "plan cancel --instance busy --dry-run=client",
    Case("plan cancel --instance busy --wait", before=let_run("busy", "flaky", "FATAL_ERROR")),
    _once("plan cancel --instance idle"),
    _once("plan cancel --instance nobody"),
)
_ALL: dict[str, Cases] = {
    "install": INSTALL,
    "update": UPDATE,
    "upgrade": UPGRADE,
    "uninstall": UNINSTALL,
    "suspend": SUSPEND,
    "resume": RESUME,
    "adopt": ADOPT,
    "prune": PRUNE,
    "plan trigger": TRIGGER,
    "plan retry": RETRY,
    "plan cancel": CANCEL,
}
COMMANDS: dict[str, Cases] = {
    name: [Case(one, modes=_AT_TWO) if isinstance(one, str) else one for one in cases]
    for name, cases in _ALL.items()
}
