"""The job `condition`: what it answers, and that no answer has a value of a parameter in it."""

import pytest

from kudo.jobs import condition
from kudo.jobs.inputs import Inputs
from kudo.parameters.template import RawParameter

PARAMETERS = (
    RawParameter("TEXT", "string", "s3cret'-value"),
    RawParameter("PIN", "integer", "48151"),
    RawParameter("SIZES", "array", "[s3cret-a, s3cret-b]"),
    RawParameter("ON", "boolean", "T"),
    RawParameter("SHARE", "number", "0.5"),
    RawParameter("NONE", "integer", None),
)


def answer(expression: str) -> bool | str:
    request = condition.Request(expression, Inputs({"instance": {"name": "i"}}, PARAMETERS, ""))
    return condition.decode_answer(condition.handle(request.encode()))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("params.PIN == 48151 && params.ON && params.SHARE < 1.0", True),
        ("params.NONE == null", True),
        ("params.SIZES.size() == 3", False),
        ("params.GONE == 1", "there is no field GONE"),
        ("params[params.TEXT] == 1", "there is no such field"),
        ("params.SIZES[params.PIN] == 'a'", "there is no such item"),
        ("int(params.TEXT) > 1", "cannot be evaluated: cannot convert string to int"),
        (
            "quantity(params.TEXT).sign() == 1",
            "cannot be evaluated: a value is no quantity of Kubernetes",
        ),
        ("'a'.matches(params.TEXT + '[')", "cannot be evaluated: invalid regular expression"),
        ("params.TEXT", "is neither true nor false but of type string"),
    ],
)
def test_a_condition_is_true_or_false_or_wrong_for_a_reason(
    expression: str, expected: bool | str
) -> None:
    assert answer(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        *(f"{function}(params.TEXT) == {function}('1')" for function in ("int", "double", "uint")),
        *(f"{function}(params.TEXT) != {function}('1s')" for function in ("duration", "timestamp")),
        *("params.TEXT.matches('[')", "params.SIZES.all(a, int(a) > 1)", "params.TEXT + 1 == 2"),
        *("{'a': 1}[params.TEXT] == 1", "[1][params.PIN] == 1", "params.TEXT.charAt(99) == 'a'"),
        *("base64.decode(params.TEXT) == b''", "'%d'.format([params.TEXT]) == ''"),
        *("quantity(params.SIZES[0]).isInteger()", "params.TEXT.substring(-params.PIN) == 'a'"),
    ],
)
def test_no_answer_has_a_value_of_a_parameter(expression: str) -> None:
    said = answer(expression)
    assert isinstance(said, str)
    assert "s3cret" not in said
    assert "value'" not in said
    assert "48151" not in said
