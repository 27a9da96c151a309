"""Recorded decisions of KUDO 0.19 of every kind, through both routes of the running webhook.

KUDO_ALL_CASES=1 has all of them asked; ADMISSION_VECTORS names another file of recorded decisions.
"""

import functools
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kudo.api.names import FINALIZER_CLEANUP
from tests.support.selection.cases import cases, chosen
from tests.unit.webhook.harness import USER, DictVersions, running
from tests.unit.webhook.vectors.compare import compare
from tests.unit.webhook.vectors.exceptions import DEPARTURES, Departure
from tests.unit.webhook.vectors.http import Answer, ask_all
from tests.unit.webhook.vectors.recorded import DENIALS, GOLDEN, Outcome, Vector, denied, read

ONLY_SEEN_BEFORE_MUTATION = {"D16", "D20"}
"""Denials of a plan beside a change: once a trigger is written, the two look the same."""


def _kind(vector: Vector) -> tuple[object, ...]:
    """Return what tells apart the rules that may decide about a row."""
    codes = tuple(departure.code for departure in DEPARTURES if departure.applies(vector))
    outcome = replace(vector.recorded, parameters=())
    return codes, outcome, vector.create, vector.upgrade, vector.deleting


async def test_recorded_decisions_are_equal_or_differ_as_intended(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    every, versions = read(Path(os.environ.get("ADMISSION_VECTORS") or GOLDEN))
    vectors = cases(every, _kind, each=4)
    figure(f"recorded decisions: {chosen(len(every), len(vectors))}")
    async with running(tmp_path, DictVersions(versions)) as webhook:
        answers = await ask_all(webhook, vectors)
    comparison = compare((answer.vector, answer.outcome) for answer in answers)
    comparison.faults += [fault for answer in answers for fault in _faults_of_both_routes(answer)]
    figure(str(comparison))
    assert len(answers) == len(vectors) > 0
    assert not comparison.faults, "\n".join(comparison.faults[:20])


def _faults_of_both_routes(answer: Answer) -> list[str]:
    """Return where the validating route or the finalizer does not fit the decision."""
    denial, name = answer.outcome.denial, answer.vector.name
    if denial:
        passed = not answer.validated and denial not in ONLY_SEEN_BEFORE_MUTATION
        return [f"{name}: denied with {denial}, yet validation passes it"] if passed else []
    faults = [f"{name}: mutated, then {answer.validated}"] if answer.validated else []
    if _requester(answer) != answer.requested_by:
        faults.append(f"{name}: requested by {answer.requested_by!r}")
    if _wants_finalizer(answer.vector) != (FINALIZER_CLEANUP in answer.finalizers):
        faults.append(f"{name}: finalizers {answer.finalizers}")
    return faults


def _requester(answer: Answer) -> str:
    """Return who must be named in the run: the user, if it is another run than the stored one."""
    run = answer.final["spec"].get("planExecution", {})
    known = [answer.vector.stored.get(field) for field in ("planName", "uid")]
    new = run.get("planName") and [run.get("planName"), run.get("uid")] != known
    return USER if new else ""


def _wants_finalizer(vector: Vector) -> bool:
    changed = vector.old is None or vector.old["spec"] != vector.new["spec"]
    return changed and not vector.deleting and "cleanup" in vector.plans


# The comparison itself


@functools.cache
def first_vector() -> Vector:
    return read()[0][0]


def one_vector(recorded: Outcome) -> Vector:
    return replace(first_vector(), recorded=recorded)


def departure(applies: Callable[[Vector], bool], outcome: Outcome, code: str = "X1") -> Departure:
    return Departure(code, "For this test.", applies, lambda _: outcome)


ALWAYS = departure(lambda _: True, denied("D01"))
NEVER = departure(lambda _: False, denied("D01"))


@pytest.mark.parametrize(
    ("outcome", "departures", "fault"),
    [
        (denied("D02"), (), None),
        (denied("D01"), (ALWAYS,), None),
        (denied("D01"), (), "instead of"),
        (denied("D02", 500), (), "instead of"),
        (denied("D03"), (ALWAYS,), "instead of"),
        (denied("D01"), (ALWAYS, ALWAYS), "instead of"),
        (denied("D02"), (ALWAYS,), "equal, yet X1 applies"),
        (denied("D02"), (NEVER,), "X1 explains no row"),
    ],
)
def test_a_row_is_equal_or_explained_by_just_one_departure(
    outcome: Outcome, departures: tuple[Departure, ...], fault: str | None
) -> None:
    faults = compare([(one_vector(denied("D02")), outcome)], departures).faults
    if fault is None:
        assert faults == []
    else:
        assert any(fault in text for text in faults)


def test_departures_have_codes_of_their_own_and_one_sentence_of_reason() -> None:
    assert len({departure.code for departure in DEPARTURES}) == len(DEPARTURES)
    for departure in DEPARTURES:
        assert departure.reason.endswith(".")
        assert ". " not in departure.reason


def test_no_departure_looks_at_what_was_recorded() -> None:
    vectors, _ = read()
    for vector in cases(vectors, _kind, each=4):
        blind = replace(vector, recorded=Outcome())
        for departure in DEPARTURES:
            assert departure.applies(vector) == departure.applies(blind)


def test_the_copy_holds_all_recorded_decisions_and_every_kind_of_denial() -> None:
    vectors, _ = read(GOLDEN)
    assert len(vectors) == 4470
    assert {vector.recorded.denial for vector in vectors} - {""} == DENIALS.keys()
