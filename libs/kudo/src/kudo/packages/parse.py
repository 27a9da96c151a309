"""Parses `operator.yaml` and `params.yaml`."""

from goyaml import DumpError, YamlError, load
from kudo.names import API_VERSION
from kudo.packages.fields import Fields
from kudo.packages.files import OPERATOR_FILE, PARAMETERS_FILE
from kudo.packages.model import OperatorFile, PackageParameter, ParameterGroup
from kudo.packages.plans import (
    PackageMaintainer,
    PackagePhase,
    PackagePipeFile,
    PackagePlan,
    PackageStep,
    PackageTask,
    PackageTaskSpec,
)
from kudo.parameters.text import to_text
from kudo.problems import Problem

Parameters = tuple[tuple[PackageParameter, ...], tuple[ParameterGroup, ...]]


def parse_operator(content: bytes, problems: list[Problem]) -> OperatorFile:
    """Return what `operator.yaml` says; append what is wrong with it to `problems`."""
    before = len(problems)
    document = _document(content, OPERATOR_FILE, problems)
    fields = Fields.of(document, "", OPERATOR_FILE, problems)
    if document is None and len(problems) == before:
        why = "has no content" if content.strip() else "is empty"
        fields.note(f"failed to parse yaml into valid operator {OPERATOR_FILE}: the file {why}")
    _check_api_version(fields)
    plans = fields.named("plans")
    return OperatorFile(
        name=fields.text("name"),
        description=fields.text("description"),
        operator_version=fields.text("operatorVersion"),
        app_version=fields.text("appVersion"),
        kudo_version=fields.text("kudoVersion"),
        kubernetes_version=fields.text("kubernetesVersion"),
        url=fields.text("url"),
        namespace_manifest=fields.text("namespaceManifest"),
        prune=fields.flag("prune"),
        maintainers=tuple(map(_maintainer, fields.children("maintainers") or ())),
        tasks=tuple(map(_task, fields.children("tasks") or ())),
        plans=None if plans is None else {name: _plan(plan) for name, plan in plans.items()},
    )


def parse_parameters(content: bytes, problems: list[Problem]) -> Parameters:
    """Return the parameters and groups of `params.yaml`; append what is wrong to `problems`."""
    document = _document(content, PARAMETERS_FILE, problems)
    fields = Fields.of(document, "", PARAMETERS_FILE, problems)
    _check_api_version(fields)
    return (
        tuple(map(_parameter, fields.children("parameters") or ())),
        tuple(map(_group, fields.children("groups") or ())),
    )


def _document(content: bytes, file: str, problems: list[Problem]) -> object:
    try:
        return load(content)
    except YamlError as error:
        place = f"{file}:{error.line}"
        problems.append(Problem("PackageInvalid", f"not valid YAML: {error.message}", place))
        return None


def _check_api_version(fields: Fields) -> None:
    version = fields.text("apiVersion")
    if version and version != API_VERSION:
        fields.note(f"expecting supported API version {API_VERSION} but got {version}")


def _maintainer(fields: Fields) -> PackageMaintainer:
    return PackageMaintainer(name=fields.text("name") or None, email=fields.text("email") or None)


def _task(fields: Fields) -> PackageTask:
    return PackageTask(
        name=fields.text("name"),
        kind=fields.text("kind"),
        spec=_task_spec(fields.child("spec")),
        timeout=fields.text("timeout"),
        progress_deadline=fields.text("progressDeadline"),
    )


def _task_spec(fields: Fields) -> PackageTaskSpec:
    pipe = fields.children("pipe")
    return PackageTaskSpec(
        resources=fields.texts("resources"),
        parameter=fields.text("parameter") or None,
        pod=fields.text("pod") or None,
        pipe=None if pipe is None else tuple(map(_pipe_file, pipe)),
        package=fields.text("package") or None,
        instance_name=fields.text("instanceName") or None,
        app_version=fields.text("appVersion") or None,
        operator_version=fields.text("operatorVersion") or None,
        parameter_file=fields.text("parameterFile") or None,
        wait=fields.flag("wait"),
        want_err=fields.flag("wantErr"),
        fatal=fields.flag("fatal"),
        done=fields.flag("done"),
    )


def _pipe_file(fields: Fields) -> PackagePipeFile:
    return PackagePipeFile(
        file=fields.text("file") or None,
        env_file=fields.text("envFile") or None,
        kind=fields.text("kind") or None,
        key=fields.text("key") or None,
    )


def _plan(fields: Fields) -> PackagePlan:
    phases = fields.children("phases")
    return PackagePlan(
        strategy=fields.text("strategy"),
        phases=None if phases is None else tuple(map(_phase, phases)),
        timeout=fields.text("timeout"),
    )


def _phase(fields: Fields) -> PackagePhase:
    return PackagePhase(
        name=fields.text("name"),
        strategy=fields.text("strategy"),
        steps=tuple(map(_step, fields.children("steps") or ())),
        timeout=fields.text("timeout"),
    )


def _step(fields: Fields) -> PackageStep:
    return PackageStep(
        name=fields.text("name"),
        tasks=fields.texts("tasks") or (),
        timeout=fields.text("timeout"),
    )


def _parameter(fields: Fields) -> PackageParameter:
    required, kind = fields.flag("required"), fields.text("type")
    # KUDO 0.19 stored the text "null" for these, and published packages rely on it: cassandra 3.11
    # declares {type: array} alone and installs without a value.
    null_by_default = kind in {"array", "map"} and required is not True
    parameter = PackageParameter(
        name=fields.text("name"),
        display_name=fields.text("displayName"),
        description=fields.text("description"),
        required=True if required is None else required,
        default=fields.get("default"),
        has_default=fields.has("default") or null_by_default,
        trigger=fields.text("trigger"),
        type=kind,
        immutable=bool(fields.flag("immutable")),
        enum=fields.values_of("enum"),
        group=fields.text("group"),
        advanced=bool(fields.flag("advanced")),
        hint=fields.text("hint"),
    )
    _check_values(parameter, fields)
    return parameter


def _check_values(parameter: PackageParameter, fields: Fields) -> None:
    if parameter.enum is not None and None in parameter.enum:
        fields.note(f'parameter "{parameter.name}" has a null value in its enum')
    for value in (parameter.default, *(parameter.enum or ())):
        try:
            to_text(value, parameter.type)
        except DumpError as error:
            fields.note(f'parameter "{parameter.name}" has a value that cannot be stored: {error}')


def _group(fields: Fields) -> ParameterGroup:
    return ParameterGroup(
        name=fields.text("name"),
        display_name=fields.text("displayName"),
        description=fields.text("description"),
        priority=fields.integer("prio"),
    )
