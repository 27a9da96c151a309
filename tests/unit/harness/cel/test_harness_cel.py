"""CEL expressions of asserts: what holds, what fails and what is told about it."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kubecel import environment, parse_quantity
from kudo_harness.expressions import Expressions, FailedExpression
from kudo_harness.findings import Findings, Place
from kudo_harness.suite import AssertOptions, ResourceRef, Text

JsonObject = dict[str, Any]

PLACE = Place("01-assert.yaml", 3)
POD: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-0",
        "labels": {"app": "web", "kubernetes.io/name": "web"},
        "creationTimestamp": "2026-11-22T10:00:00Z",
        "generation": 3,
    },
    "spec": {
        "replicas": 3,
        "containers": [
            {
                "name": "main",
                "image": "nginx:1.25",
                "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
            },
            {"name": "side", "image": "busybox"},
        ],
    },
    "status": {
        "phase": "Running",
        "readyReplicas": 3,
        "ratio": 0.5,
        "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-22T10:00:05Z"},
            {"type": "Initialized", "status": "True"},
        ],
        "podIP": "10.1.2.3",
    },
}
TEA: JsonObject = {
    "kind": "Instance",
    "metadata": {"name": "tea"},
    "status": {
        "planStatus": {
            "deploy": {
                "status": "COMPLETE",
                "phases": [{"name": "p", "steps": [{"name": "s", "status": "COMPLETE"}]}],
            },
            "backup": {"status": "NEVER_RUN"},
        }
    },
}
OBJECTS = {"pod": POD, "tea": TEA}


def options(
    all_of: Sequence[str] = (),
    any_of: Sequence[str] = (),
    refs: Mapping[str, str] | Sequence[tuple[str, str]] = (("pod", "Pod"), ("tea", "Instance")),
) -> AssertOptions:
    pairs = refs.items() if isinstance(refs, Mapping) else refs
    objects = tuple(ResourceRef("v1", kind, f"the-{ref}", "", ref, PLACE) for ref, kind in pairs)
    return AssertOptions(
        timeout=0,
        collectors=(),
        commands=(),
        resource_refs=objects,
        assert_all=tuple(Text(one, PLACE) for one in all_of),
        assert_any=tuple(Text(one, PLACE) for one in any_of),
        list_matching=None,
        place=PLACE,
    )


def evaluated(
    all_of: Sequence[str] = (),
    any_of: Sequence[str] = (),
    objects: Mapping[str, JsonObject] = OBJECTS,
) -> list[FailedExpression]:
    findings = Findings()
    expressions = Expressions.compile(options(all_of, any_of), findings)
    assert findings.kept == []
    return expressions.evaluate(objects)


def finding(expression: str, refs: Sequence[tuple[str, str]] = (("pod", "Pod"),)) -> str:
    findings = Findings()
    Expressions.compile(options((expression,), refs=refs), findings)
    (one,) = findings.kept
    assert one.place == PLACE
    return one.message


TRUE = [
    "pod.status.phase == 'Running'",
    "has(pod.status.podIP)",
    "!has(pod.status.hostIP)",
    "!has(pod.metadata.deletionTimestamp)",
    "pod.spec.replicas == pod.status.readyReplicas",
    "pod.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
    "pod.status.conditions.all(c, c.status == 'True')",
    "pod.status.conditions.exists_one(c, c.type == 'Ready')",
    "pod.status.conditions.filter(c, c.type == 'Ready').size() == 1",
    "pod.spec.containers.map(c, c.name) == ['main', 'side']",
    "pod.spec.containers.map(c, c.name == 'main', c.image) == ['nginx:1.25']",
    "size(pod.spec.containers) >= 2",
    "pod.spec.containers[0].image.startsWith('nginx:')",
    "pod.spec.containers[0].image.matches('^nginx:[0-9.]+$')",
    "pod.metadata.labels['kubernetes.io/name'] == 'web'",
    "'app' in pod.metadata.labels",
    "!('x' in pod.metadata.labels)",
    "pod.status.phase in ['Running', 'Succeeded']",
    "timestamp(pod.metadata.creationTimestamp) < timestamp('2026-11-22T10:00:01Z')",
    (
        "timestamp(pod.status.conditions[0].lastTransitionTime) - "
        "timestamp(pod.metadata.creationTimestamp) == duration('5s')"
    ),
    "pod.metadata.generation > 2 ? true : false",
    "pod.status.ratio < 1",
    "pod.spec.replicas > 2.5",
    "pod.spec.replicas == 3.0",
    "pod.spec.replicas % 2 == 1",
    "pod.spec.replicas != '3'",
    "true || pod.nothing == 1",
    "pod.nothing == 1 || true",
    "string(pod.spec.replicas) == '3'",
    "int('42') == 42",
    "[1, 2] + [3] == [1, 2, 3]",
    "tea.status.planStatus.deploy.status == 'COMPLETE'",
    "tea.status.planStatus.deploy.phases.all(p, p.steps.all(s, s.status == 'COMPLETE'))",
    "tea.status.planStatus.filter(p, tea.status.planStatus[p].status == 'COMPLETE') == ['deploy']",
    "pod.metadata.name.contains('eb') && pod.metadata.name.endsWith('0')",
    "'\\u00e9'.size() == 1",
    "cel.bind(x, pod.spec.replicas, x > 2)",
    "pod.?status.?hostIP.orValue('none') == 'none'",
    "pod.metadata.name.split('-')[1] == '0'",
    "pod.metadata.name.lowerAscii() == 'web-0'",
    "math.greatest(1, pod.spec.replicas) == 3",
    "base64.encode(b'a') == 'YQ=='",
    "'%s is %d'.format(['a', 1]) == 'a is 1'",
    # Functions of Kubernetes.
    "quantity('500m').isLessThan(quantity('1'))",
    "quantity(pod.spec.containers[0].resources.limits.memory).isGreaterThan(quantity('1G'))",
    "quantity('1000m') == quantity('1')",
    "quantity('1Ki').compareTo(quantity('1024')) == 0",
    "quantity('1').add(quantity('500m')).sub(1) == quantity('0.5')",
    "quantity('2k').asInteger() == 2000 && quantity('2k').isInteger()",
    "quantity('1500m').asApproximateFloat() == 1.5 && !quantity('1500m').isInteger()",
    "quantity('-1').sign() == -1 && quantity('0').sign() == 0",
    "isQuantity('1e3') && !isQuantity('1 Gi') && !isQuantity('')",
    "isIP(pod.status.podIP) && isIP('::1') && !isIP('10.1.2') && !isIP('fe80::1%eth0')",
    "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/255.0.0.0')",
    "isURL('https://example.com/a') && !isURL('example')",
    "[3, 1, 2].sum() == 6",
    "pod.spec.containers.map(c, c.name.size()).sum() == 8",
    "[0.5, 1].sum() == 1.5 && [].sum() == 0",
    "[3, 1, 2].min() == 1 && ['a', 'b'].max() == 'b'",
    "[1, 2, 2].isSorted() && !['b', 'a'].isSorted() && [].isSorted()",
]

FALSE = [
    ("pod.status.phase == 'Pending'", "is false (pod.status.phase is Running)"),
    (
        "pod.spec.containers.size() == 3 && has(pod.metadata.labels)",
        (
            "is false (pod.spec.containers has 2 items; "
            "pod.metadata.labels has 2 fields: app, kubernetes.io/name)"
        ),
    ),
    ("pod.spec.replicas == '3'", "is false (pod.spec.replicas is 3)"),
    ("has(pod.status.hostIP)", "is false (pod.status.hostIP does not exist)"),
    (
        "pod.status.hostIP == 'x'",
        "there is no field hostIP (pod.status.hostIP does not exist)",
    ),
    (
        "pod.metadata.labels['a.b/c'] == 'x'",
        "there is no field a.b/c (pod.metadata.labels['a.b/c'] does not exist)",
    ),
    (
        "pod.spec.containers[5].image == 'x'",
        "there is no item 5 in a list of 2 (pod.spec.containers[5].image does not exist)",
    ),
    (
        "pod.status.phase",
        "is neither true nor false but of type string (pod.status.phase is Running)",
    ),
    ("pod.status.phase < 3", "< does not work on string and int (pod.status.phase is Running)"),
    ("1 / 0 == 1", "cannot be evaluated: divide by zero"),
    ("9223372036854775807 + 1 > 0", "cannot be evaluated: integer overflow"),
    ("quantity('abc').isInteger()", "cannot be evaluated: 'abc' is no quantity of Kubernetes"),
    (
        "{'a': 'b'}.isGreaterThan(quantity('1'))",
        "cannot be evaluated: it is no quantity; write quantity(...) around it",
    ),
    ("quantity('0.5').asInteger() == 0", "cannot be evaluated: the quantity is no integer"),
    ("['a'].sum() == 1", "cannot be evaluated: sum() needs a list of numbers"),
    (
        "[9223372036854775807, 1].sum() > 1",
        "cannot be evaluated: the sum is too large",
    ),
    ("[].min() == 1", "cannot be evaluated: min() needs a list that is not empty"),
    (
        "[1, 'a'].isSorted()",
        "cannot be evaluated: isSorted() needs items of one type that can be compared",
    ),
]

INVALID = [
    ("pot.status.phase == 'x'", "unknown name pot; did you mean pod?"),
    ("elephant == 1", "unknown name elephant; the refs of the assert are pod"),
    ("pod.status.phase ==", "not valid CEL (column 20): Syntax error: mismatched input '<EOF>'"),
    ("'a'", "the expression is of type string, and must be true or false"),
    ("pod.a +\n+ 1", "not valid CEL (line 2, column 1): Syntax error: extraneous input '+'"),
    ("'a' < 1", "not valid CEL (column 5): found no matching overload for '_<_' applied to "),
    ("quantty('1') == quantity('1')", "unknown function quantty; did you mean quantity?"),
    ("pod.metadata.name.find('a') == 'a'", "the function find of Kubernetes is not supported here"),
    ("pod.a.blah(1)", "unknown function blah"),
    (
        "pod.a == 1 &&\n  pto.b == 2",
        "unknown name pto; did you mean pod? (line 2 of the expression)",
    ),
]


def test_what_is_true_holds() -> None:
    for expression in TRUE:
        assert evaluated((expression,)) == []


def test_what_is_not_true_says_why(subtests: pytest.Subtests) -> None:
    for expression, reason in FALSE:
        with subtests.test(expression=expression, reason=reason):
            (failed,) = evaluated((expression,))
            assert str(failed) == f"01-assert.yaml:3: {expression}: {reason}"


def test_what_cannot_work_is_found_before_anything_runs() -> None:
    for expression, message in INVALID:
        assert finding(expression).startswith(message)


def test_an_expression_without_refs_says_that_there_are_none() -> None:
    assert finding("pod.a == 1", ()) == "unknown name pod; the assert has no resourceRefs"


def test_all_of_assert_all_must_be_true() -> None:
    failed = evaluated(("false", "true", "1 == 2"))
    assert [one.expression.value for one in failed] == ["false", "1 == 2"]
    assert {one.any_of for one in failed} == {1}


def test_one_of_assert_any_is_enough() -> None:
    assert evaluated(any_of=("false", "pod.nothing", "true")) == []
    failed = evaluated(any_of=("false", "1 == 2"))
    assert [(one.expression.value, one.any_of) for one in failed] == [("false", 2), ("1 == 2", 2)]


def test_both_lists_count() -> None:
    assert [one.expression.value for one in evaluated(("false",), ("true",))] == ["false"]
    assert [one.expression.value for one in evaluated(("true",), ("false",))] == ["false"]


def test_an_object_that_does_not_exist_yet_is_waited_for() -> None:
    (failed,) = evaluated(("pod.status.phase == 'Running'",), objects={"tea": TEA})
    assert failed.reason == "Pod the-pod (pod) does not exist"
    assert evaluated(("true || pod.status.phase == 'Running'",), objects={}) == []


def test_an_assert_without_expressions_holds() -> None:
    expressions = Expressions.compile(options(), Findings())
    assert len(expressions) == 0
    assert expressions.evaluate({}) == []


def test_values_of_secrets_are_left_out() -> None:
    secret: JsonObject = {"kind": "Secret", "data": {"password": "aHVudGVyMg=="}}
    findings = Findings()
    asked = options(("s.data.password == 'x'",), refs=(("s", "Secret"),))
    (failed,) = Expressions.compile(asked, findings).evaluate({"s": secret})
    assert failed.values == ("s.data.password is left out, since it is of a Secret",)


def test_an_expression_takes_a_counted_number_of_steps() -> None:
    many = {"kind": "Pod", "list": list(range(1000))}
    nested = "pod.list.all(a, pod.list.all(b, pod.list.all(c, a + b + c >= 0)))"
    (failed,) = evaluated((nested,), objects={"pod": many})
    assert failed.reason == "takes too many steps"


def test_numbers_that_cel_does_not_have_are_errors_in_words() -> None:
    (failed,) = evaluated(("pod.n > 1",), objects={"pod": {"n": 2**70}})
    assert failed.reason.startswith("cannot be evaluated: Integer value '1180591620717411303424'")


def test_deep_nesting_does_not_end_the_run() -> None:
    assert finding("(" * 5000 + "true" + ")" * 5000).startswith("not valid CEL")


def test_without_the_library_the_suite_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment.cache_clear()
    for name in [name for name in sys.modules if name.startswith("cel_expr_python")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    assert finding("true") == (
        "celExpr needs the library for CEL, which is not installed: run pip install "
        "'kubectl-kudo[test]' (the single file of the plugin does not have it)"
    )
    environment.cache_clear()


def test_quantities_are_exact() -> None:
    table = {
        "1": "1",
        "500m": "1/2",
        "1Ki": "1024",
        "1.5Gi": "1610612736",
        "-2e-2": "-1/50",
        ".5": "1/2",
        "5.": "5",
        "1n": "1/1000000000",
        "+3E": "3000000000000000000",
    }
    assert {text: str(parse_quantity(text)) for text in table} == table


@pytest.mark.parametrize("text", ["", ".", "1GiB", "1 ", "e3", "1e999999999", "0x1", "1" * 50])
def test_what_is_no_quantity_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity of Kubernetes"):
        parse_quantity(text)
