"""Properties of verification over arbitrary packages."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kudo.api import Phase, PipeFile, Step, Task, TaskSpec
from kudo.api.semver import precedence
from kudo.packages.model import (
    OperatorFile,
    Package,
    PackageParameter,
    PackagePlan,
    ParameterGroup,
)
from kudo.verification import verify

_names = st.sampled_from(["a", "b", "A", "a.yaml", "b.yaml", "deploy", "", "x;y", "{{", "a/b"])
_texts = st.one_of(_names, st.text(max_size=12))
_versions = st.sampled_from(["", "1", "v1.2.3-rc.1", "1.2.3.4", "x"])
_maybe = st.one_of(st.none(), _texts)
_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=5,
)
_pieces = st.sampled_from(
    [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        "kind: Namespace\n",
        "\n---\n",
        "{{ .Params.a }}",
        '{{ index .Params "b" }}',
        "{{ with .Params }}{{ .a }}",
        "{{ range $k, $v := .Params.A }}{{ $v.x }}",
        "{{ $p := . }}",
        "{{ $p.Nope }}",
        "{{ $p = .Params }}",
        "{{ else }}",
        "{{ end }}",
        '{{ define "d" }}{{ template "d" $ }}',
        '{{ template "d" .Params }}',
        "{{ (.Params.a).b | printf `%s` .Name }}",
        "{{ .RunParams.a }}",
        "{{ fail `no` }}",
        "{{",
        "data: [",
    ]
)
_templates = st.lists(_pieces | _texts, max_size=8).map("".join)


def _tuples(of: st.SearchStrategy[Any], size: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=size).map(tuple)


_KINDS = ["Apply", "Delete", "Toggle", "Pipe", "KudoOperator", "Dummy", "Nope"]
_pipes = st.builds(PipeFile, file=_maybe, env_file=_maybe, kind=_maybe, key=_maybe)
_specs = st.builds(
    TaskSpec,
    resources=st.none() | _tuples(_names),
    parameter=_maybe,
    pod=_maybe,
    pipe=st.none() | _tuples(_pipes),
    package=_maybe,
    parameter_file=_maybe,
)
_limits = st.sampled_from(["", "1m", "2m", "0s", "soon"])
_tasks = st.builds(
    Task,
    name=_names,
    kind=st.sampled_from(_KINDS),
    spec=_specs,
    timeout=_limits,
    progress_deadline=_limits,
)
_steps = st.builds(Step, name=_names, tasks=_tuples(_names), timeout=_limits)
_strategies = st.sampled_from(["", "serial", "parallel", "Serial"])
_phases = st.builds(
    Phase, name=_names, strategy=_strategies, steps=_tuples(_steps), timeout=_limits
)
_types = st.sampled_from(["", "string", "integer", "number", "boolean", "array", "map", "colour"])
_parameters = st.builds(
    PackageParameter,
    name=_names,
    required=st.booleans(),
    default=_values,
    has_default=st.booleans(),
    trigger=_names,
    type=_types,
    immutable=st.booleans(),
    enum=st.none() | _tuples(_values),
    group=_names,
    advanced=st.booleans(),
)
_plans = st.builds(
    PackagePlan,
    strategy=_strategies,
    phases=st.none() | _tuples(_phases),
    timeout=_limits,
    parameters=st.none() | _tuples(_parameters),
)
_operators = st.builds(
    OperatorFile,
    name=_texts,
    operator_version=_versions,
    app_version=_versions,
    kudo_version=_versions,
    kubernetes_version=_versions,
    namespace_manifest=_names,
    tasks=_tuples(_tasks),
    plans=st.none() | st.dictionaries(_names, _plans, max_size=3),
)
_packages = st.builds(
    Package,
    operator=_operators,
    parameters=_tuples(_parameters),
    groups=_tuples(st.builds(ParameterGroup, name=_names)),
    templates=st.dictionaries(_names, _templates, max_size=3),
    origin=st.just("p"),
)


@given(_packages)
def test_verification_never_fails_itself_and_every_finding_names_its_place(
    package: Package,
) -> None:
    findings = verify(package)
    for finding in findings:
        assert finding.problem.reason.isalpha()
        assert finding.problem.message
        assert finding.problem.field.startswith(("operator.yaml: ", "params.yaml: ", "templates/"))
    assert verify(package) == findings


_ordered = [
    *("0.9.0-1", "0.9.0-2", "0.9.0-10", "0.9.0-alpha", "0.9.0-alpha.1", "0.9.0-alpha.beta"),
    *("0.9.0-rc.1", "0.9.0", "v0.9.1", "0.10", "1-rc", "1", "1.0.1", "2"),
]


@given(st.integers(0, len(_ordered) - 1), st.integers(0, len(_ordered) - 1))
def test_versions_are_ordered_as_semver_orders_them(left: int, right: int) -> None:
    first, second = precedence(_ordered[left]), precedence(_ordered[right])
    assert first is not None
    assert second is not None
    assert (first < second) == (left < right)
    assert (first == second) == (left == right)


@given(st.text(max_size=20))
def test_reading_a_version_never_fails(text: str) -> None:
    version = precedence(text)
    assert version is None or version == precedence(f"v{text.removeprefix('v')}")
