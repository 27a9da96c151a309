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
    outputs = {"dump": {"size": "12", "key": "s3cret-output"}, "a-b": {"c": ""}}
    values = {"instance": {"name": "i"}, "outputs": outputs}
    of_run = (RawParameter("keep", "integer", "7"), RawParameter("name", None, "monday"))
    request = condition.Request(expression, Inputs(values, PARAMETERS, "", of_run))
    return condition.decode_answer(condition.handle(request.encode()))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("params.PIN == 48151 && params.ON && params.SHARE < 1.0", True),
        ("params.NONE == null", True),
        ("runParams.keep > 6 && runParams.name == 'monday'", True),
        ("runParams.gone == 1", "there is no field gone"),
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


SKIPPED = "here: it runs in no earlier step, or was skipped; ask with"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("int(outputs.dump.size) > 10", True),
        ('outputs["a-b"].c == ""', True),
        ("has(outputs.dump) && !has(outputs.gone)", True),
        ("'gone' in outputs", False),
        ("outputs.dump.size > 10", "> does not work on string and int"),
        ("outputs.gone.x == ''", f"there are no outputs of task gone {SKIPPED} has(outputs.gone)"),
        (
            "outputs['c-d'].x == ''",
            f'there are no outputs of task c-d {SKIPPED} "c-d" in outputs',
        ),
        ("outputs.dump.gone == ''", "there is no field gone"),
        ("params.GONE == '' && outputs.dump.size == '12'", "there is no field GONE"),
        ("outputs[outputs.dump.key].x == ''", "there is no such field"),
    ],
)
def test_a_condition_uses_outputs_and_says_how_to_ask_for_one_that_is_not_there(
    expression: str, expected: bool | str
) -> None:
    assert answer(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "int(outputs.dump.key) > 1",
        "outputs.dump[outputs.dump.key] == ''",
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
