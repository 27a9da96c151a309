"""Reads TestSuite, TestStep, TestAssert and TestFile, in the API groups of KUDO and of kuttl."""

from collections.abc import Callable
from typing import Final, TypeVar

from kubecel import is_name
from kudo.api.problems import shown, shown_name
from kudo_harness.findings import Findings, Place, did_you_mean
from kudo_harness.suite.documents import Document
from kudo_harness.suite.faults import read_faults
from kudo_harness.suite.fields import Fields, Reading
from kudo_harness.suite.model import (
    STEP_SECONDS,
    AssertOptions,
    Collector,
    CollectorType,
    Command,
    Deletion,
    Granularity,
    KubeconfigLoading,
    ListMatching,
    ReportFormat,
    ResourceRef,
    StepOptions,
    SuiteOptions,
    Text,
)
from kudo_harness.suite.step_files import FileOptions, file_options
from kudo_harness.suite.words import NotClosed, split

SUITE: Final = "TestSuite"
STEP: Final = "TestStep"
ASSERT: Final = "TestAssert"
FILE: Final = "TestFile"
KINDS: Final = (SUITE, STEP, ASSERT, FILE)
VERSIONS: Final = ("kuttl.dev/v1beta1", "kudo.dev/v1beta1", "kudo.dev/v1alpha1")

_KUDO: Final = "kudo.dev/"
_KUTTL: Final = "kuttl.dev/"
_OBJECTS: Final = ("Operator", "OperatorVersion", "Instance")
"""Kinds of kudo.dev that are objects of a cluster."""

_COMMAND: Final = (
    *("command", "script", "namespaced", "ignoreFailure", "background", "timeout"),
    "skipLogOutput",
)
_COLLECTOR: Final = ("type", "pod", "namespace", "container", "selector", "tail", "command")
_META: Final = ("apiVersion", "kind", "metadata")
_SUITE: Final = (
    *_META,
    *("crdDir", "manifestDirs", "testDirs", "startControlPlane", "attachControlPlaneOutput"),
    *("startKIND", "startKUDO", "kindConfig", "kindContext", "kindNodeCache"),
    *("kindContainers", "skipDelete", "skipClusterDelete", "timeout", "parallel"),
    *("artifactsDir", "commands", "reportFormat", "reportName", "reportGranularity"),
    *("namespace", "suppress", "ignoreFiles", "listMatching"),
)
_STEP: Final = (
    *_META,
    *("index", "unitTest", "apply", "assert", "error", "delete", "commands", "kubeconfig"),
    *("context", "kubeconfigLoading", "faults"),
)
_ASSERT: Final = (
    *_META,
    *("timeout", "collectors", "commands", "resourceRefs", "assertAll", "assertAny"),
    "listMatching",
)
_HINTS: Final = {
    "kubectl": 'write each line as a command: "commands: [{command: kubectl ...}]"',
    "errors": "did you mean error?",
    "asserts": "did you mean assert?",
}
_PARALLEL: Final = 8
_MOST_PARALLEL: Final = 64
_Item = TypeVar("_Item")


def kind_of(document: Document, findings: Findings) -> str:
    """Return the kind if it is one of the harness's own; empty for an object of a cluster.

    A kind or version that the API groups of the harness do not have is an error.
    """
    version, kind = document.value.get("apiVersion"), document.value.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return ""
    if not version.startswith((_KUDO, _KUTTL)):
        return ""
    if kind in KINDS:
        # The kind is known, so it is read all the same: its other mistakes are told as well.
        if version not in VERSIONS:
            message = f"no such version: {shown_name(version)}; write {VERSIONS[0]}"
            findings.error("UnknownKind", message, document.place("apiVersion"))
        return kind
    # kudo.dev has both: an Instance is applied, a TestStep is read here.
    if version.startswith(_KUDO) and kind in _OBJECTS:
        return ""
    kinds = KINDS if version.startswith(_KUTTL) else (*KINDS, *_OBJECTS)
    advice = did_you_mean(kind, kinds) or f"there are {', '.join(kinds)}"
    message = f"unknown kind {shown_name(kind)} of {shown_name(version)}; {advice}"
    findings.error("UnknownKind", message, document.place("kind"))
    return kind


def read_suite(reading: Reading) -> SuiteOptions:
    """Return the fields of a TestSuite; the defaults where they are absent."""
    fields = _top(reading, _SUITE)
    timeout = fields.integer("timeout", STEP_SECONDS)
    start = fields.line_of_flag("startControlPlane"), fields.line_of_flag("startKIND")
    # The words of the flags, which kuttl has for the lines of a suite file as well.
    if all(start):
        message = (
            "only one of --start-control-plane and --start-kind can be set: remove "
            "startControlPlane or startKIND"
        )
        fields.error("InvalidField", message, "startKIND")
    ignored, has_ignored = fields.texts("ignoreFiles"), fields.has("ignoreFiles")
    return SuiteOptions(
        name=_name(fields),
        crd_dir=fields.located("crdDir"),
        manifest_dirs=fields.texts("manifestDirs"),
        test_dirs=fields.texts("testDirs"),
        start_control_plane=start[0],
        attach_control_plane_output=fields.flag("attachControlPlaneOutput"),
        start_kind=start[1],
        kind_config=fields.located("kindConfig"),
        kind_context=fields.text("kindContext", "kind"),
        kind_node_cache=fields.flag("kindNodeCache"),
        kind_containers=fields.texts("kindContainers"),
        start_kudo=fields.line_of_flag("startKUDO"),
        skip_delete=fields.flag("skipDelete"),
        skip_cluster_delete=fields.flag("skipClusterDelete"),
        timeout=_positive(fields, "timeout", timeout) or STEP_SECONDS,
        # kuttl: a 0 that is written down is no limit for commands of the suite.
        command_timeout=max(timeout, 0),
        parallel=_parallel(fields),
        artifacts_dir=fields.text("artifactsDir"),
        commands=_commands(fields, background=True),
        report_format=fields.choice("reportFormat", ReportFormat),
        report_name=fields.text("reportName", "kuttl-report"),
        report_granularity=fields.choice("reportGranularity", Granularity) or Granularity.STEP,
        namespace=fields.text("namespace"),
        suppress=frozenset(_suppressed(fields)),
        ignore_files=tuple(text.value for text in ignored) if has_ignored else ("README*",),
        list_matching=fields.choice("listMatching", ListMatching) or ListMatching.POSITION,
        place=fields.place,
    )


def read_step(reading: Reading) -> StepOptions:
    """Return the fields of a TestStep; `index` and `unitTest` mean nothing, as in kuttl."""
    fields = _top(reading, _STEP)
    # Read for their types alone: a value of another type is a mistake in any case.
    fields.integer("index")
    fields.flag("unitTest")
    if fields.has("context") and not fields.has("kubeconfig"):
        message = "context needs a kubeconfig beside it"
        fields.error("InvalidField", message, "context")
    loading = fields.choice("kubeconfigLoading", KubeconfigLoading)
    return StepOptions(
        name=_name(fields),
        apply=fields.texts("apply"),
        asserts=fields.texts("assert"),
        errors=fields.texts("error"),
        delete=_each(fields, "delete", _deletion),
        commands=_commands(fields, background=False),
        kubeconfig=fields.text("kubeconfig"),
        context=fields.text("context"),
        kubeconfig_loading=loading or KubeconfigLoading.EAGER,
        place=fields.place,
        faults=read_faults(fields),
    )


def read_assert(reading: Reading) -> AssertOptions:
    """Return the fields of a TestAssert."""
    fields = _top(reading, _ASSERT)
    references = _each(fields, "resourceRefs", _resource_ref)
    every, some = _expressions(fields, "assertAll"), _expressions(fields, "assertAny")
    _note_unused(fields, references, (*every, *some))
    return AssertOptions(
        timeout=_positive(fields, "timeout", fields.integer("timeout")),
        collectors=_each(fields, "collectors", _collector),
        commands=_commands(fields, background=False),
        resource_refs=references,
        assert_all=every,
        assert_any=some,
        list_matching=fields.choice("listMatching", ListMatching),
        place=fields.place,
    )


def read_file_options(reading: Reading) -> FileOptions:
    """Return the fields of a TestFile."""
    return file_options(_top(reading, (*_META, "testRunSelector")))


def _top(reading: Reading, names: tuple[str, ...]) -> Fields:
    return Fields.of(reading, (), reading.document.value, names, _HINTS)


def _name(fields: Fields) -> str:
    metadata = fields.values.get("metadata")
    value = metadata.get("name") if isinstance(metadata, dict) else None
    if isinstance(value, str) or value is None:
        return value or ""
    fields.error("InvalidField", "metadata.name must be text; write it in quotes", "metadata")
    return ""


def _positive(fields: Fields, name: str, value: int) -> int:
    if value >= 0:
        return value
    fields.error("InvalidField", f"{name} must be 0 or more seconds, not {value}", name)
    return 0


def _parallel(fields: Fields) -> int:
    value = fields.integer("parallel", _PARALLEL)
    # A warning: a suite that asks for more runs as well with fewer at a time.
    if value > _MOST_PARALLEL:
        message = f"{_MOST_PARALLEL} cases run at a time at most; write {_MOST_PARALLEL}"
        fields.warning("InvalidField", message, "parallel")
        return _MOST_PARALLEL
    if value >= 0:
        # In Go a field that is not set is 0.
        return value or _PARALLEL
    fields.error("InvalidField", f"parallel must be 1 to {_MOST_PARALLEL}", "parallel")
    return _PARALLEL


def _suppressed(fields: Fields) -> list[str]:
    texts = fields.texts("suppress")
    for n, text in enumerate(texts):
        if text.value.lower() != "events":
            message = f"only events can be suppressed, not {shown(text.value)}"
            fields.error("InvalidField", message, "suppress", n)
    return [text.value.lower() for text in texts]


def _each(
    fields: Fields, name: str, read: Callable[[Fields, str, int, object], _Item]
) -> tuple[_Item, ...]:
    return tuple(read(fields, name, n, item) for n, item in enumerate(fields.items(name)))


def _item(fields: Fields, name: str, n: int, value: object, names: tuple[str, ...]) -> Fields:
    return Fields.of(fields.reading, (*fields.path, name, n), value, names)


def _commands(fields: Fields, *, background: bool) -> tuple[Command, ...]:
    commands = _each(fields, "commands", _command)
    for n, command in enumerate(commands):
        # A step waits for its commands, so a warning tells what is done instead.
        if command.background and not background:
            message = "background works only for commands of a TestSuite; the command is awaited"
            fields.warning("NotInBackground", message, "commands", n, "background")
    return commands


def _command(outer: Fields, name: str, n: int, value: object) -> Command:
    fields = _item(outer, name, n, value, _COMMAND)
    command = Command(
        command=fields.text("command"),
        script=fields.text("script"),
        namespaced=fields.flag("namespaced"),
        ignore_failure=fields.flag("ignoreFailure"),
        background=fields.flag("background"),
        timeout=fields.integer("timeout"),
        skip_log_output=fields.flag("skipLogOutput"),
        place=fields.place,
    )
    if fields.has("command") and fields.has("script"):
        message = "command and script cannot both be set; make two commands of it"
        fields.error("InvalidCommand", message, "script")
    elif not command.command.strip() and not command.script.strip():
        message = "command or script must be set"
        fields.error("InvalidCommand", message)
    elif command.script and command.namespaced:
        message = "namespaced does not work with script; use $NAMESPACE in the script"
        fields.error("InvalidCommand", message, "namespaced")
    else:
        try:
            # Variables are replaced later, and close no quotes.
            split(command.command)
        except NotClosed as error:
            fields.error("InvalidCommand", f"{error}; use script for a shell", "command")
    return command


def _deletion(outer: Fields, name: str, n: int, value: object) -> Deletion:
    fields = _item(outer, name, n, value, ("apiVersion", "kind", "name", "namespace", "labels"))
    _require(fields, "apiVersion", "kind")
    return Deletion(
        api_version=fields.text("apiVersion"),
        kind=fields.text("kind"),
        name=fields.text("name"),
        namespace=fields.text("namespace"),
        labels=fields.labels("labels"),
        place=fields.place,
    )


def _resource_ref(outer: Fields, name: str, n: int, value: object) -> ResourceRef:
    fields = _item(outer, name, n, value, ("apiVersion", "kind", "name", "namespace", "ref"))
    _require(fields, "apiVersion", "kind", "name", "ref")
    reference = ResourceRef(
        api_version=fields.text("apiVersion"),
        kind=fields.text("kind"),
        name=fields.text("name"),
        namespace=fields.text("namespace"),
        ref=fields.text("ref"),
        place=fields.place,
    )
    if reference.ref and not (reference.ref.isidentifier() and reference.ref.isascii()):
        message = f"ref must be a name that CEL can use, such as pod, not {shown(reference.ref)}"
        fields.error("InvalidField", message, "ref")
    elif reference.ref and not is_name(reference.ref):
        message = (
            f"no expression can use {reference.ref!r} as a name; write letters, digits and _, and "
            "no word of CEL"
        )
        fields.error("InvalidField", message, "ref")
    return reference


def _expressions(outer: Fields, name: str) -> tuple[Text, ...]:
    expressions = []
    for n, item in enumerate(outer.items(name)):
        fields = _item(outer, name, n, item, ("celExpr",))
        _require(fields, "celExpr")
        expressions.append(Text(fields.text("celExpr"), fields.place_of("celExpr")))
    return tuple(expressions)


def _note_unused(
    fields: Fields, references: tuple[ResourceRef, ...], expressions: tuple[Text, ...]
) -> None:
    seen: dict[str, Place] = {}
    for n, reference in enumerate(references):
        if reference.ref in seen:
            message = (
                f"ref {shown_name(reference.ref)} is given twice, first in {seen[reference.ref]}"
            )
            fields.error("InvalidField", message, "resourceRefs", n, "ref")
        seen[reference.ref] = reference.place
        if not any(reference.ref in expression.value for expression in expressions):
            message = f"no expression uses the ref {shown_name(reference.ref)}; remove it"
            fields.warning("UnusedReference", message, "resourceRefs", n)


def _collector(outer: Fields, name: str, n: int, value: object) -> Collector:
    fields = _item(outer, name, n, value, _COLLECTOR)
    # As in kuttl, where the type may be left out.
    inferred = CollectorType.COMMAND if fields.has("command") else CollectorType.POD
    collector = Collector(
        type=fields.choice("type", CollectorType) or inferred,
        pod=fields.text("pod"),
        namespace=fields.text("namespace"),
        container=fields.text("container"),
        selector=fields.text("selector"),
        tail=fields.integer("tail") if fields.has("tail") else None,
        command=fields.text("command"),
        place=fields.place,
    )
    if problem := _collector_problem(collector):
        fields.error("InvalidCollector", problem)
    return collector


def _collector_problem(collector: Collector) -> str:
    pods = collector.pod or collector.selector
    match collector.type:
        case CollectorType.COMMAND:
            if not collector.command:
                return "a collector of type command needs a command"
            if pods or collector.container:
                return "a collector of type command has no pod, selector and container"
        case CollectorType.POD:
            if collector.command:
                return "a collector of type pod has no command; remove one of them"
            if not pods:
                return "a collector of type pod needs a pod or a selector"
            if collector.pod and collector.selector:
                return "a collector has a pod or a selector, not both"
        case CollectorType.EVENTS:
            if collector.command or collector.selector or collector.container:
                return "a collector of type events has only a pod and a namespace"
    return ""


def _require(fields: Fields, *names: str) -> None:
    for name in names:
        if not fields.has(name):
            fields.error("MissingField", f"{name} must be set")
