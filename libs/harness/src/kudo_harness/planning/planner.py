"""Plans a run: where a suite runs, and what is done for the lines that ask for a cluster.

Suites of others say `startKIND`, `kubectl kudo init` or run a manager in the background. On a
cluster that the harness starts, something else is done for such lines; each is told to the user.
Simulated nodes stand for those of a configuration of kind. What cannot be done is an error with its
line, before anything is started. On a cluster of the user all commands run as they are, and lines
that would start a cluster are skipped.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kudo_harness.findings import Findings, Place
from kudo_harness.planning.commands import CommandPlanner
from kudo_harness.planning.plan import (
    Action,
    KudoVerdict,
    Plan,
    PlannedCommand,
    PlannedNode,
    PlanOptions,
    Substitution,
    Where,
)
from kudo_harness.suite import (
    DEFAULT_LIMITS,
    Command,
    Document,
    Fault,
    NodeNotReady,
    RestartService,
    Suite,
    SuiteOptions,
    Text,
)
from kudo_harness.suite.documents import read_documents
from kudo_harness.suite.fields import Fields, Reading
from kudo_harness.suite.files import FileReader

MOST_NODES: Final = 100
_SERVER: Final = {
    "featureGates": "a feature gate changes Kubernetes itself",
    "runtimeConfig": "it changes which APIs are served",
    "kubeadmConfigPatches": "there is no kubeadm here",
    "kubeadmConfigPatchesJSON6902": "there is no kubeadm here",
}
"""Fields that change the API server or the kubelet, which cannot be done here."""
# Without containers there is nothing that these could change.
_IGNORED: Final = (
    "name",
    "networking",
    "containerdConfigPatches",
    "containerdConfigPatchesJSON6902",
)
_OF_CONTAINERS: Final = ("image", "extraMounts", "extraPortMappings")
_KNOWN: Final = ("apiVersion", "kind", "nodes", *_IGNORED, *_SERVER)
_KNOWN_NODE: Final = (
    "role",
    "labels",
    *_OF_CONTAINERS,
    "kubeadmConfigPatches",
    "kubeadmConfigPatchesJSON6902",
)
_ADVICE: Final = "remove it, or run the suite with --kubeconfig on a cluster of kind"


@dataclass(slots=True)
class KindConfig:
    """Reads a configuration of kind.

    Attributes:
        folder: Relative paths begin here.
        findings: Where errors are noted.
        substitutions: Where what is done instead is noted.
    """

    folder: Path
    findings: Findings
    substitutions: list[Substitution]

    def nodes(self, path: Text) -> tuple[PlannedNode, ...]:
        """Return the nodes that pods are scheduled to: the workers, else one."""
        content = FileReader(self.findings).text(self.folder / path.value, path.place)
        if content is None:
            return (PlannedNode(),)
        documents = read_documents(path.value, content, self.findings, DEFAULT_LIMITS)
        if not documents:
            return (PlannedNode(),)
        nodes = self._nodes(documents[0])
        several = f"{len(nodes)} simulated nodes" if len(nodes) > 1 else "one simulated node"
        self.substitutions.append(Substitution(path.place, f"kindConfig: {path.value}", several))
        return nodes

    def _nodes(self, document: Document) -> tuple[PlannedNode, ...]:
        reading = Reading(document, self.findings, DEFAULT_LIMITS)
        fields = Fields.of(reading, (), document.value, _KNOWN, strict=True)
        self._refuse(fields)
        for name in _IGNORED:
            if fields.has(name):
                self._skip(fields, name)
        items = fields.items("nodes")
        if len(items) > MOST_NODES:
            message = f"more than {MOST_NODES} nodes cannot be simulated"
            fields.error("SuiteTooLarge", message, "nodes")
            return (PlannedNode(),)
        by_role = [self._node(fields, n, item) for n, item in enumerate(items)]
        workers = [node for role, node in by_role if role == "worker"]
        # Without workers kind schedules pods to the node of the control plane.
        return tuple(workers or [node for _, node in by_role[:1]] or [PlannedNode()])

    def _node(self, outer: Fields, n: int, item: object) -> tuple[str, PlannedNode]:
        fields = Fields.of(outer.reading, ("nodes", n), item, _KNOWN_NODE, strict=True)
        self._refuse(fields)
        for name in _OF_CONTAINERS:
            if fields.has(name):
                self._skip(fields, name)
        return fields.text("role", "control-plane"), PlannedNode(fields.labels("labels"))

    def _refuse(self, fields: Fields) -> None:
        for name, why in _SERVER.items():
            if fields.has(name):
                fields.error("CannotBeMapped", f"{name}: {why}; {_ADVICE}", name)

    def _skip(self, fields: Fields, name: str) -> None:
        self.substitutions.append(
            Substitution(fields.place_of(name), name, "skipped: nodes here have no container")
        )


COMMAND_LINE: Final = Place("command line")
BOTH_MODES: Final = "only one of --start-control-plane and --start-kind can be set"
_GO_MODULE: Final = "github.com/kudobuilder/kudo"
# The module is named at the beginning; the file is that of a repository of others.
_GO_MOD_BYTES: Final = 64 * 1024
_STARTS: Final = "kudo-cluster starts a control plane of processes on this machine"


def plan_run(suite: Suite, options: PlanOptions, kudo: KudoVerdict) -> Plan:
    """Return what is done before the cases of a suite run.

    Args:
        suite: The suite.
        options: The flags.
        kudo: Says what is done for commands of `kubectl kudo` on a cluster of our own.

    Raises:
        SuiteInvalid: with every line for which nothing can be done.
    """
    return _Planner(suite, options, kudo).plan()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request of the suite file or a flag, such as `startKIND`."""

    place: Place
    name: str

    def replaced(self, replacement: str) -> Substitution:
        return Substitution(self.place, self.name, replacement)


@dataclass(slots=True)
class _Planner:
    suite: Suite
    options: PlanOptions
    kudo: KudoVerdict
    findings: Findings = field(default_factory=Findings)
    substitutions: list[Substitution] = field(default_factory=list)

    @property
    def of_file(self) -> SuiteOptions:
        return self.suite.options

    def plan(self) -> Plan:
        # A cluster that the user names is used, whatever the suite asks for.
        plan = self._with_other_cluster() if self._given else self._with_own_cluster()
        plan = plan or self._with_other_cluster()
        check_faults(self.suite, plan, self.findings, allowed=self.options.allow_faults)
        self.findings.check()
        return plan

    @property
    def _given(self) -> bool:
        return bool(self.options.kubeconfig or self.options.context)

    def _starts(self) -> Iterator[_Asked]:
        """Yield what asks for a cluster; flags that are given override the suite file."""
        control_plane = self._flag(
            self.options.start_control_plane,
            "start-control-plane",
            self.of_file.start_control_plane,
            "startControlPlane",
        )
        kind_flag = self.options.start_kind
        # The one is of no use without the other.
        if self.options.kind_config and kind_flag is None:
            kind_flag = True
        kind = self._flag(kind_flag, "start-kind", self.of_file.start_kind, "startKIND")
        if control_plane and kind:
            self.findings.error("InvalidField", BOTH_MODES, kind.place)
        yield from filter(None, (control_plane, kind))

    def _start_kudo(self) -> _Asked | None:
        flag, line = self.options.start_kudo, self.of_file.start_kudo
        return self._flag(flag, "start-kudo", line, "startKUDO")

    @staticmethod
    def _flag(flag: bool | None, name: str, line: Place | None, field_name: str) -> _Asked | None:
        if flag is None:
            return _Asked(line, field_name) if line else None
        return _Asked(COMMAND_LINE, f"--{name}") if flag else None

    def _with_own_cluster(self) -> Plan | None:
        """Return the plan with a cluster of our own; None if nothing asks for one."""
        starts, kudo = list(self._starts()), self._start_kudo()
        asked = next(iter([*starts, *([kudo] if kudo else [])]), None)
        if asked is None:
            return None
        start = asked.replaced(_STARTS)
        self.substitutions.append(start)
        nodes = self._nodes()
        self._note_kind()
        first: list[PlannedCommand] = []
        if kudo is not None:
            done = "the CRDs are created, and the webhook and the reconciler run as processes"
            if kudo is not asked:
                self.substitutions.append(kudo.replaced(done))
            else:
                self.substitutions[0] = start = asked.replaced(f"{_STARTS}, and {done}")
            # The command is only shown.
            init = Command(command="kubectl kudo init", place=kudo.place)
            first.append(PlannedCommand(init, Action.INSTALL_KUDO))
        planner = CommandPlanner(
            variables={**self.options.environment, "NAMESPACE": "default"},
            kudo=self.kudo,
            kudo_manager=_is_kudo(self.options.folder),
            findings=self.findings,
            substitutions=self.substitutions,
        )
        commands = [
            planned for command in self.of_file.commands for planned in planner.plan(command)
        ]
        steps = {}
        for step in (step for case in self.suite.cases for step in case.steps):
            for command in step.commands:
                planned = planner.plan(command)
                # Only commands that do not run as they are: `of_step` returns the others.
                if planned != (PlannedCommand(command),):
                    steps[command] = planned
        return Plan(
            where=Where.OWN,
            asked=start,
            nodes=nodes,
            substitutions=tuple(self.substitutions),
            commands=(*first, *commands),
            warnings=self.findings.sorted(),
            steps=steps,
        )

    def _nodes(self) -> tuple[PlannedNode, ...]:
        path = self.of_file.kind_config
        if self.options.kind_config:
            path = Text(self.options.kind_config, COMMAND_LINE)
        if path is None:
            return (PlannedNode(),)
        return KindConfig(self.options.folder, self.findings, self.substitutions).nodes(path)

    def _note_kind(self) -> None:
        """Tell about the other lines for kind, which have no effect here."""
        options = self.of_file
        if self.options.kind_context or options.kind_context != "kind":
            place = COMMAND_LINE if self.options.kind_context else options.place
            name = self.options.kind_context or options.kind_context
            self._skip(place, f"kindContext: {name}", "the cluster has a context of its own")
        if options.kind_node_cache:
            self._skip(options.place, "kindNodeCache", "there are no images")
        for image in options.kind_containers:
            done = "simulated nodes run no images"
            self._skip(image.place, f"kindContainers: {image.value}", done)
        if options.attach_control_plane_output:
            done = "the logs of its programs are shown on stderr"
            self.substitutions.append(Substitution(options.place, "attachControlPlaneOutput", done))

    def _skip(self, place: Place, asked: str, why: str) -> None:
        self.substitutions.append(Substitution(place, asked, f"skipped: {why}"))

    def _with_other_cluster(self) -> Plan:
        why = f"the cluster of {'--kubeconfig' if self.options.kubeconfig else '--context'} is used"
        if self._given:
            kudo = self._start_kudo()
            for asked in (*self._starts(), *([kudo] if kudo else [])):
                self._skip(asked.place, asked.name, why)
            for text in filter(None, (self.of_file.kind_config, *self.of_file.kind_containers)):
                self._skip(text.place, text.value, why)
        return Plan(
            where=Where.GIVEN if self._given else Where.CURRENT,
            asked=None,
            nodes=(),
            substitutions=tuple(self.substitutions),
            commands=tuple(PlannedCommand(command) for command in self.of_file.commands),
            warnings=self.findings.sorted(),
            steps={},
        )


def _is_kudo(folder: Path) -> bool:
    """Return whether `./bin/manager` in a folder is the manager of KUDO.

    In the repository of another controller, such as one of an operator in Go, it is that one.
    """
    try:
        with (folder / "go.mod").open(encoding="utf-8", errors="replace") as file:
            text = file.read(_GO_MOD_BYTES)
    except OSError:
        return True
    lines = (line.split() for line in text.splitlines())
    names = [line[1] for line in lines if line[:1] == ["module"] and len(line) > 1]
    return not names or names[0].strip('"') == _GO_MODULE


def check_faults(suite: Suite, plan: Plan, findings: Findings, *, allowed: bool) -> None:
    """Note an error for each fault that cannot be caused.

    Args:
        suite: The suite.
        plan: Where it runs.
        findings: Where errors are noted.
        allowed: Whether steps may cause faults on a cluster that the harness did not start.
    """
    for step in (step for case in suite.cases for step in case.steps):
        for fault in step.options.faults if step.options else ():
            if plan.where is Where.OWN:
                problem = _of_own_cluster(fault, plan)
            else:
                problem = _of_other_cluster(fault, allowed)
            if problem:
                findings.error("FaultNotAllowed", problem, fault.place)


def _of_own_cluster(fault: Fault, plan: Plan) -> str:
    match fault.action:
        # Nodes are named by number, whatever the configuration of kind calls them.
        case NodeNotReady(name=name):
            names = [f"node-{n}" for n in range(1, len(plan.nodes) + 1)]
            return "" if name in names else f"no node {name}; there are {', '.join(names)}"
        case RestartService(service=service):
            if not (plan.installs_kudo or plan.steps_install_kudo):
                return (
                    f"the {service} does not run: no line of the suite installs KUDO; add "
                    "startKUDO: true to the suite file"
                )
    return ""


def _of_other_cluster(fault: Fault, allowed: bool) -> str:
    match fault.action:
        case NodeNotReady():
            return "only the simulated nodes of a cluster that the harness starts can be unready"
    if allowed:
        return ""
    return (
        "faults are caused only on a cluster that the harness starts: add startControlPlane: true "
        "to the suite file, or allow them on this cluster with --allow-faults"
    )
