"""Expressions over values of JSON types: what they give, and what is wrong with them in words."""

import pytest

from kubecel import NotCompiled, Result, environment, is_name

ENV = environment(("params", "instance"), "it can use params and instance")
VALUES = {
    "params": {"replicas": 3, "mode": "ring", "sizes": [1, 2], "memory": "500Mi"},
    "instance": {"name": "db", "labels": {"tier": "gold"}},
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("params.replicas > 2 && params.mode == 'ring'", True),
        ("instance.labels.tier == 'silver'", False),
        ("has(instance.labels.zone)", False),
        ("params.sizes.all(size, size > 0)", True),
        ("quantity(params.memory).isLessThan(quantity('1Gi'))", True),
    ],
)
def test_conditions(expression: str, value: bool) -> None:
    assert ENV.compile(expression).evaluate(VALUES) == Result(value)


def test_texts() -> None:
    program = ENV.compile("instance.name + ' has ' + string(params.replicas)", text=True)
    assert program.evaluate(VALUES) == Result("db has 3")


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("params.gone == 1", "there is no field gone"),
        ("params.sizes[7] == 1", "there is no item 7 in a list of 2"),
        ("params.mode > 1", "> does not work on string and int"),
        ("params.mode", "is neither true nor false but of type string"),
        (" && ".join(["params.sizes.map(a, a + 1).size() == 2"] * 40), ""),
    ],
)
def test_what_has_no_value_is_said_in_words(expression: str, fault: str) -> None:
    result = ENV.compile(expression).evaluate(VALUES)
    assert result.fault.startswith(fault)
    assert bool(result.fault) == bool(fault)


def test_a_value_that_is_not_there_is_named() -> None:
    result = ENV.compile("instance.name == 'db'").evaluate({"params": {}})
    assert result.absent == "instance"


def test_endless_work_is_ended() -> None:
    numbers = list(range(300))
    program = ENV.compile("params.all(a, params.all(b, a + b >= 0))")
    assert program.evaluate({"params": numbers}).fault == "takes too many steps"


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("params.", "not valid CEL (column"),
        ("param.x", "unknown name param; did you mean params?"),
        ("has(param.x)", "unknown name param; did you mean params?"),
        ("something", "unknown name something; it can use params and instance"),
        ("params.x.find('a') == ''", "the function find of Kubernetes is not supported here"),
        ("1 + 1", "the expression is of type int, and must be true or false"),
    ],
)
def test_what_cannot_be_compiled_is_said_in_words(expression: str, fault: str) -> None:
    with pytest.raises(NotCompiled) as caught:
        ENV.compile(expression)
    assert str(caught.value).startswith(fault)


def test_names_that_cel_keeps_cannot_be_used() -> None:
    assert is_name("outputs")
    assert not any(map(is_name, ("in", "namespace", "a-b", "1a", "")))
