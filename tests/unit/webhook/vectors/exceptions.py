"""Where this decides otherwise than KUDO 0.19, on purpose, among the recorded decisions.

Each exception is a predicate on the inputs of a row, and the outcome that is expected instead.
The predicates exclude each other, and none may hold for a row that has the same outcome here and
there. Codes like C1 are those of the list of what is better than in the original; D codes are
those of `DENIALS`.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from kudo.api import JsonObject
from tests.unit.webhook.vectors.recorded import Outcome, Vector, declared, denied, items


@dataclass(frozen=True, slots=True)
class Departure:
    """An intended difference.

    Attributes:
        code: The rule that it follows.
        reason: Why, in one sentence.
        applies: Whether a row is one of those; looks at the inputs alone.
        outcome: What the answer to such a row comes to.
    """

    code: str
    reason: str
    applies: Callable[[Vector], bool]
    outcome: Callable[[Vector], Outcome]


def _judged(vector: Vector) -> bool:
    """Whether the rules get as far as the parameters: all that is named is known."""
    plan = vector.submitted.get("planName", "")
    return not vector.create and (not plan or plan in vector.plans) and not vector.undeclared


def _status_by_hand(vector: Vector) -> bool:
    """Whether nothing but the status of the stored run differs, and not to FATAL_ERROR."""
    submitted = vector.submitted.get("status")
    return (
        not (vector.upgrade or vector.changed or vector.removed)
        and bool(vector.stored)
        and vector.same_run
        and submitted not in {vector.stored.get("status"), "FATAL_ERROR"}
    )


def _removal_hidden(vector: Vector) -> bool:
    """Whether an undeclared parameter is removed beside one whose trigger is in the way."""
    hidden = vector.removed - declared(vector.after).keys()
    return bool(hidden) and (_ghost(vector) or _triggers_another(vector))


def _running_plan_dropped(vector: Vector) -> bool:
    """Whether the stored run stays named although the new version lacks its plan."""
    plan = vector.stored.get("planName")
    return plan is not None and plan not in vector.plans and vector.same_run


def _ghost(vector: Vector) -> bool:
    return bool(vector.triggers - vector.plans)


def _triggers_another(vector: Vector) -> bool:
    running = vector.stored.get("planName")
    return not vector.deleting and running is not None and bool(vector.triggers - {running})


def _nothing_to_run(vector: Vector) -> bool:
    untriggered = bool(vector.counted) and not vector.triggers
    return untriggered and not vector.plans & {"update", "deploy"}


_FAULTS: tuple[tuple[str, Callable[[Vector], bool]], ...] = (
    ("D02", lambda vector: bool(vector.undeclared)),
    ("D03", lambda vector: vector.immutable(vector.changed | vector.removed)),
    ("D08", _ghost),
    ("D10", _nothing_to_run),
    ("D12", lambda vector: vector.deleting),
    ("D14", _triggers_another),
    ("D15", lambda vector: vector.upgrade),
)
"""What can be wrong with a change while a plan runs; the first that applies decides."""


def _first_fault(vector: Vector) -> Outcome:
    return denied(next(code for code, applies in _FAULTS if applies(vector)))


_FITTING: Mapping[str, Container[str]] = {
    "integer": {"", "0", "1", "2", "-1", "+5", "01", "9223372036854775807"},
    "number": {
        *("", "0", "1", "2", "-1", "+5", "01", "9223372036854775807", "9223372036854775808"),
        *("1.5", "1e3", "inf", "infinity", "NaN", "0x1p-2"),
    },
    "boolean": {"", "0", "1", "t", "T", "true", "True", "TRUE"},
    "array": {"", "[1, 2]", "[]", "- a\n- b", "~", "null"},
    "map": {"", "{a: b}", "{}", "a: b", "~", "null"},
}
"""Of the values in the recorded creations, those that fit the types which are checked."""


def _fits(vector: Vector) -> bool:
    """Return whether each value fits its definition; one without a definition fits."""
    definitions = declared(vector.after)
    return all(
        _value_fits(definitions.get(name, {}), value) for name, value in vector.values.items()
    )


def _value_fits(definition: JsonObject, value: str) -> bool:
    if not value:
        return not definition.get("required")
    typed = value in _FITTING.get(definition.get("value-type", ""), (value,))
    return typed and value in definition.get("enum", (value,))


def _created(vector: Vector) -> Outcome:
    defaults = {
        definition["name"]: definition["default"]
        for definition in declared(vector.after).values()
        if definition.get("immutable") and "default" in definition
    }
    parameters = items({**defaults, **vector.values})
    return Outcome("", 0, "deploy", "NEVER_RUN", "fresh", parameters, ())


DEPARTURES: tuple[Departure, ...] = (
    Departure(
        "C1",
        "The removal of an immutable parameter is a change of it, which is denied.",
        lambda vector: _judged(vector) and vector.immutable(vector.removed),
        lambda _: denied("D03"),
    ),
    Departure(
        "C2",
        "An upgrade cannot change a parameter that is immutable in both versions.",
        lambda vector: _judged(vector) and vector.upgrade and vector.immutable(vector.changed),
        lambda _: denied("D03"),
    ),
    Departure(
        "C3",
        "A status by hand neither ends a run nor changes what is stored of it.",
        lambda vector: _status_by_hand(vector) and not vector.deleting,
        lambda vector: vector.allowed(vector.stored, "kept"),
    ),
    Departure(
        "C4",
        "Whatever status a new Instance is submitted with, its run has not begun.",
        lambda vector: vector.create and "status" in vector.submitted,
        _created,
    ),
    Departure(
        "C7",
        "Removed parameters are judged one by one; an undeclared one hides no other.",
        lambda vector: _judged(vector) and _removal_hidden(vector),
        lambda vector: denied("D08" if _ghost(vector) else "D14"),
    ),
    Departure(
        "C14",
        "While the Instance is being deleted, the run that is stored may be written back.",
        lambda vector: (
            _status_by_hand(vector)
            and vector.deleting
            and vector.stored.get("planName") != "cleanup"
        ),
        lambda vector: vector.allowed(vector.submitted, "kept"),
    ),
    Departure(
        "C14b",
        "What a request leaves as it is, such as the running plan, is not judged: the answer is "
        "about the change.",
        _running_plan_dropped,
        _first_fault,
    ),
    Departure(
        "create-status",
        "The run of a new Instance says NEVER_RUN, as any other; the original left it empty.",
        lambda vector: (
            vector.create
            and "deploy" in vector.plans
            and "status" not in vector.submitted
            and _fits(vector)
        ),
        _created,
    ),
    Departure(
        "D24",
        "A version that does not exist is the request's fault (403), not the server's (500).",
        lambda vector: not vector.after,
        lambda _: denied("D24"),
    ),
)
