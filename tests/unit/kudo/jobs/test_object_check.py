"""The job `object_check`: what it says of objects, and that no fault has a value in it."""

from typing import Any

import orjson
import pytest

from kudo.jobs import object_check
from kudo.jobs.inputs import Inputs
from kudo.jobs.object_check import Verdict
from kudo.parameters.template import RawParameter

PARAMETERS = (
    RawParameter("NODES", "integer", "3"),
    RawParameter("TEXT", "string", "s3cret'-value"),
    RawParameter("PIN", "integer", "48151"),
)
READY = "self.status.readyReplicas == params.NODES"


def verdict(obj: Any, **expressions: str) -> Verdict:
    """Return what is said of one object that is named."""
    return answer([obj], expressions, by_name=True)


def answer(objects: list[Any], expressions: dict[str, str], *, by_name: bool) -> Verdict:
    inputs = Inputs({"instance": {"name": "i"}}, PARAMETERS, "it can use self")
    documents = tuple(map(orjson.dumps, objects))
    request = object_check.Request(expressions, by_name, inputs, documents)
    return object_check.decode_answer(object_check.handle(request.encode()))


def node(ready: int | None) -> Any:
    return {"kind": "StatefulSet", "status": {} if ready is None else {"readyReplicas": ready}}


def test_until_decides_unless_failure_does() -> None:
    assert verdict(node(3), until=READY) == Verdict("done")
    assert verdict(node(3), until=READY, failure="false") == Verdict("done")
    told = Verdict("failed", "failure is true: self.status.readyReplicas > 2")
    assert verdict(node(3), until=READY, failure="self.status.readyReplicas > 2") == told
    said = '"%d of %d".format([self.status.readyReplicas, params.NODES])'
    assert verdict(node(2), until=READY, message=said) == Verdict("waiting", "2 of 3")
    assert verdict(node(2), until=READY, failure="true", message=said) == Verdict(
        "failed", "2 of 3"
    )


def test_without_a_message_the_expression_is_told() -> None:
    assert verdict(node(2), until=f"{READY} &&\n  true") == Verdict(
        "waiting", f"until is not true yet: {READY} && true"
    )
    long = " && ".join([READY] * 20)
    assert len(verdict(node(2), until=long).text) < 300


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({}, "until: there is no field readyReplicas"),
        (
            {"failure": "self.status.phase == 'Broken'"},
            "failure: there is no field phase; until: there is no field readyReplicas",
        ),
        (
            {"message": "self.status.text"},
            "until: there is no field readyReplicas; message: there is no field text",
        ),
        (
            {"message": "self.status"},
            "until: there is no field readyReplicas; message: is no text but of type map",
        ),
    ],
)
def test_what_is_not_there_yet_is_waited_for(more: dict[str, str], fault: str) -> None:
    waiting = f"until is not true yet: {READY} ({fault})"
    assert verdict(node(None), until=READY, **more) == Verdict("waiting", waiting)


def test_a_failure_that_cannot_be_evaluated_does_not_keep_until_from_being_true() -> None:
    assert verdict(node(3), until=READY, failure="self.gone.x == 1") == Verdict("done")


@pytest.mark.parametrize(
    ("expressions", "fault"),
    [
        ({"until": "self."}, "until: not valid CEL"),
        ({"until": "selv.a"}, "until: unknown name selv; did you mean self?"),
        ({"until": "1 + 1"}, "until: the expression is of type int, and must be true or false"),
        ({"until": "self.status"}, "until is neither true nor false but of type map"),
        ({"until": "true", "failure": "self.kind"}, "failure is neither true nor false"),
        ({"until": "true", "message": "1"}, "message: the expression is of type int, and must be"),
        ({"until": "true", "failure": "output.x"}, "failure: unknown name output"),
        ({"until": "self.all.all(a, self.all.all(b, a + b >= 0))"}, "until takes too many steps"),
    ],
)
def test_what_cannot_be_used_is_invalid(expressions: dict[str, str], fault: str) -> None:
    said = verdict(node(3) | {"all": list(range(300))}, **expressions)
    assert said.outcome == "invalid"
    assert said.text.startswith(f"check.{fault}")


def test_of_a_selection_there_are_objects_and_no_self() -> None:
    several = "objects.size() == 2 && objects.all(o, o.status.readyReplicas > 0)"
    both = [node(1), node(2)]
    assert answer(both, {"until": several}, by_name=False) == Verdict("done")
    said = answer(both, {"until": "self.kind == ''"}, by_name=False)
    assert said.text.startswith("check.until: unknown name self")
    assert verdict(node(1), until="objects == [self] && instance.name == 'i'") == Verdict("done")


def test_a_message_is_one_line_of_bounded_length() -> None:
    loud = "'\\r\\x1b[31m' + self.kind + '\\n\\u202e' + params.TEXT"
    assert verdict(node(1), until="false", message=loud).text == "[31mStatefulSet s3cret'-value"
    long = "self.kind.replace('t', '" + "x" * 3000 + "')"
    assert len(verdict(node(1), until="false", message=long).text) == object_check.MESSAGE + 1
    assert verdict(node(1), until="false", message="' '").text == "until is not true yet: false"


@pytest.mark.parametrize("field", ["until", "failure", "message"])
@pytest.mark.parametrize(
    "expression",
    [
        *(f"{function}(params.TEXT) == {function}('1')" for function in ("int", "double", "uint")),
        *("params.TEXT.matches('[')", "params.TEXT + 1 == 2", "self[params.TEXT] == 1"),
        *("[1][params.PIN] == 1", "params.TEXT.charAt(99) == 'a'", "int(self.pin) == 1"),
        *("base64.decode(params.TEXT) == b''", "'%d'.format([params.TEXT]) == ''"),
        *("quantity(params.TEXT).isInteger()", "params.TEXT.substring(-params.PIN) == 'a'"),
    ],
)
def test_no_fault_has_a_value_in_it(field: str, expression: str) -> None:
    if field == "message":
        expression = f"string({expression})"
    said = verdict({"pin": "s3cret"}, **{"until": "false", field: expression})
    assert said.outcome == "waiting"
    assert f"{field}: " in said.text
    for value in ("s3cret'", "value'", "48151"):
        assert value not in said.text
