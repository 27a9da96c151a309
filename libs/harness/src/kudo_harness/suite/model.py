"""The kinds of a test suite as values: suites, steps, asserts, commands, collectors.

Each value knows the place where it is written, because messages of a run name it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kudo_harness.findings import Place
from kudo_harness.suite.documents import Document

STEP_SECONDS: Final = 30
"""Seconds that asserts of a step may take, where nothing else is said."""


class ListMatching(StrEnum):
    """How a list of an assert is compared with one of an object."""

    POSITION = "position"
    """As kuttl: equal length, item by item."""
    NAME = "name"
    """Each item of the assert must match an item of the same name; others may be there."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text and its place, such as a path of an `apply` list."""

    value: str
    place: Place

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of a suite, a step or an assert; exactly one of `command` and `script` is set.

    Attributes:
        command: Words as in a shell, after variables are replaced; no shell runs.
        script: For `sh -c`.
        namespaced: Whether `--namespace` is appended unless it is there.
        ignore_failure: Whether another exit code than 0 is accepted.
        background: Whether it runs until the end; only in a suite.
        timeout: Seconds; 0 is that of the suite, below 0 is unlimited.
        skip_log_output: Whether its output is left out of the log.
        place: Where it is written.
    """

    command: str = ""
    script: str = ""
    namespaced: bool = False
    ignore_failure: bool = False
    background: bool = False
    timeout: int = 0
    skip_log_output: bool = False
    place: Place


class CollectorType(StrEnum):
    POD = "pod"
    COMMAND = "command"
    EVENTS = "events"


@dataclass(frozen=True, slots=True)
class Collector:
    """What is collected after an assert has failed.

    Attributes:
        type: Logs of pods, the output of a command, or events.
        pod: Name of the pod or event.
        namespace: Empty is that of the case.
        container: Empty is all of them.
        selector: Label selector of pods.
        tail: Lines of each log; None is 10 with a selector, all with a pod.
        command: Of a command collector.
        place: Where it is written.
    """

    type: CollectorType
    pod: str
    namespace: str
    container: str
    selector: str
    tail: int | None
    command: str
    place: Place


@dataclass(frozen=True, slots=True)
class Deletion:
    """Objects that a step deletes first; without a name all with the labels, or all of the kind."""

    api_version: str
    kind: str
    name: str
    namespace: str
    labels: Mapping[str, str]
    place: Place


@dataclass(frozen=True, slots=True)
class ResourceRef:
    """An object that CEL expressions of an assert know as `ref`."""

    api_version: str
    kind: str
    name: str
    namespace: str
    ref: str
    place: Place


@dataclass(frozen=True, slots=True)
class AssertOptions:
    """The fields of a TestAssert: options of the asserts of a step.

    Attributes:
        timeout: Seconds; 0 is that of the suite.
        collectors: Run after a failed assert.
        commands: Repeated until they succeed or the time is up.
        resource_refs: Objects for the expressions.
        assert_all: CEL expressions that must all be true.
        assert_any: CEL expressions of which one must be true.
        list_matching: How lists are compared; None is as the suite says.
        place: Where it is written.
    """

    timeout: int
    collectors: tuple[Collector, ...]
    commands: tuple[Command, ...]
    resource_refs: tuple[ResourceRef, ...]
    assert_all: tuple[Text, ...]
    assert_any: tuple[Text, ...]
    list_matching: ListMatching | None
    place: Place


class FaultTime(StrEnum):
    """When a fault is caused, where no object says so."""

    BEFORE = "before"
    """Before the deletions, commands and objects of the step."""
    AFTER = "after"
    """After the objects of the step are applied."""


class FaultService(StrEnum):
    """A service of KUDO that can be restarted."""

    RECONCILER = "reconciler"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True)
class DeletePods:
    """Deletes all pods with the labels, by uid.

    Attributes:
        labels: At least one.
        namespace: Empty is that of the case.
    """

    labels: Mapping[str, str]
    namespace: str


@dataclass(frozen=True, slots=True)
class RestartService:
    """Kills a service of KUDO, and starts it again."""

    service: FaultService


@dataclass(frozen=True, slots=True)
class NodeNotReady:
    """Makes a simulated node, and its pods, not ready for some seconds."""

    name: str
    seconds: int


@dataclass(frozen=True, slots=True)
class RefuseWrites:
    """Refuses to create or update objects of a kind in the namespace of the case.

    Attributes:
        api_version: Of the kind.
        kind: A namespaced kind.
        seconds: How long.
        reason: What the API server answers; empty is a text that names the fault.
    """

    api_version: str
    kind: str
    seconds: int
    reason: str


FaultAction = DeletePods | RestartService | NodeNotReady | RefuseWrites


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that a step causes; its asserts say how it has to end.

    Attributes:
        action: What is done.
        time: When.
        when: Part of an object: the fault is caused as soon as one matches; None is at `time`.
        place: Where it is written.
    """

    action: FaultAction
    time: FaultTime
    when: Document | None
    place: Place

    @property
    def seconds(self) -> int:
        """How long it lasts; 0 where it is done at once."""
        match self.action:
            case NodeNotReady(seconds=seconds) | RefuseWrites(seconds=seconds):
                return seconds
        return 0


class KubeconfigLoading(StrEnum):
    """When the kubeconfig of a step is read: before the case, or right before the step."""

    EAGER = "Eager"
    LAZY = "Lazy"


@dataclass(frozen=True, slots=True)
class StepOptions:
    """The fields of a TestStep.

    Attributes:
        name: Empty is the name of the first file that is applied.
        apply: Files, folders or URLs, from the folder of the case.
        asserts: The same, for what must match.
        errors: The same, for what must not match.
        delete: Objects that are deleted first.
        commands: Run before anything is applied.
        kubeconfig: Path of another cluster's kubeconfig; empty is that of the case.
        context: Its context; empty is the current one.
        kubeconfig_loading: When it is read.
        place: Where it is written.
        faults: Faults that it causes; only ours, kuttl has none.
    """

    name: str
    apply: tuple[Text, ...]
    asserts: tuple[Text, ...]
    errors: tuple[Text, ...]
    delete: tuple[Deletion, ...]
    commands: tuple[Command, ...]
    kubeconfig: str
    context: str
    kubeconfig_loading: KubeconfigLoading
    place: Place
    faults: tuple[Fault, ...] = ()


class ReportFormat(StrEnum):
    JSON = "json"
    XML = "xml"


class Granularity(StrEnum):
    """What a test case of a report is: a step, or a whole case."""

    STEP = "step"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """The fields of a TestSuite.

    Attributes:
        name: `metadata.name`.
        crd_dir: Folder of CRDs, applied first; empty is none.
        manifest_dirs: Folders and URLs, applied next.
        test_dirs: Folders of cases.
        start_control_plane: A line that asks for a control plane; None if there is none.
        attach_control_plane_output: Whether its output is shown.
        start_kind: A line that asks for kind; None if there is none.
        kind_config: Configuration of kind.
        kind_context: Name of the kind cluster.
        kind_node_cache: Whether kind keeps images.
        kind_containers: Images to load into the nodes of kind.
        start_kudo: A line that asks for KUDO, which KUDO 0.19 accepted and ignored.
        skip_delete: Whether namespaces and objects stay.
        skip_cluster_delete: Whether the cluster stays.
        timeout: Seconds for the asserts of a step.
        command_timeout: Seconds for a command of the suite; 0 is unlimited.
        parallel: Cases that run at a time.
        artifacts_dir: Folder of reports and logs.
        commands: Run once, before the cases, in the namespace `default`.
        report_format: None is no report.
        report_name: Name of the report without suffix.
        report_granularity: What a test case of the report is.
        namespace: Namespace of all cases; empty is a fresh one for each.
        suppress: Parts of the log that are left out: `events`.
        ignore_files: Patterns of names that belong to no step.
        list_matching: How lists of asserts are compared.
        place: Where it is written.
    """

    name: str
    crd_dir: Text | None
    manifest_dirs: tuple[Text, ...]
    test_dirs: tuple[Text, ...]
    start_control_plane: Place | None
    attach_control_plane_output: bool
    start_kind: Place | None
    kind_config: Text | None
    kind_context: str
    kind_node_cache: bool
    kind_containers: tuple[Text, ...]
    start_kudo: Place | None
    skip_delete: bool
    skip_cluster_delete: bool
    timeout: int
    command_timeout: int
    parallel: int
    artifacts_dir: str
    commands: tuple[Command, ...]
    report_format: ReportFormat | None
    report_name: str
    report_granularity: Granularity
    namespace: str
    suppress: frozenset[str]
    ignore_files: tuple[str, ...]
    list_matching: ListMatching
    place: Place
