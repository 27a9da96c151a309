"""All messages of a status are bounded together; what matters most keeps its length."""

from kudo.api import (
    ExecutionStatus,
    InstanceStatus,
    PhaseStatus,
    PlanStatus,
    StepStatus,
    TaskStatus,
)
from kudo.plans.execution import MAX_MESSAGES, bounded, only_messages_differ
from kudo.plans.runs.status import with_entry

S = ExecutionStatus
LONG = 2000


def entry(
    name: str, statuses: list[ExecutionStatus], *, when: str = "2026-01-01T00:00:00Z"
) -> PlanStatus:
    steps = tuple(
        StepStatus(name=f"s{number}", status=status, message=f"{name} {number} ".ljust(LONG, "x"))
        for number, status in enumerate(statuses)
    )
    phases = (PhaseStatus(name="p", status=S.IN_PROGRESS, steps=steps),)
    return PlanStatus(
        name=name, status=S.IN_PROGRESS, last_updated_timestamp=when, phases=phases, uid="u"
    )


def messages(found: PlanStatus) -> list[str]:
    return [step.message or "" for phase in found.phases or () for step in phase.steps or ()]


def total(entries: dict[str, PlanStatus]) -> int:
    return sum(len(text) for found in entries.values() for text in messages(found))


def test_messages_within_the_bound_are_left_alone() -> None:
    entries = {"deploy": entry("deploy", [S.ERROR] * 10)}
    assert bounded(entries) is entries


def test_hundreds_of_long_messages_are_cut_together() -> None:
    entries = dict(bounded({"deploy": entry("deploy", [S.ERROR] * 500)}))
    found = messages(entries["deploy"])
    assert total(entries) <= MAX_MESSAGES
    assert all(text.startswith(f"deploy {number} ") for number, text in enumerate(found))
    assert len(found[0]) == LONG
    assert " ... " in found[-1]


def test_a_fatal_message_keeps_its_length() -> None:
    statuses = [S.ERROR] * 499 + [S.FATAL_ERROR]
    found = messages(bounded({"deploy": entry("deploy", statuses)})["deploy"])
    assert len(found[-1]) == LONG
    assert found[-1].startswith("deploy 499 ")


def test_the_plan_that_changed_last_keeps_more_than_others() -> None:
    old = entry("backup", [S.ERROR] * 30, when="2025-01-01T00:00:00Z")
    new = entry("deploy", [S.ERROR] * 30, when="2026-01-01T00:00:00Z")
    found = bounded({"backup": old, "deploy": new})
    assert len("".join(messages(found["deploy"]))) > len("".join(messages(found["backup"])))
    assert messages(found["deploy"]) == messages(new)


def test_thousands_of_messages_stay_within_the_bound() -> None:
    entries = dict(bounded({"deploy": entry("deploy", [S.ERROR] * 5000)}))
    assert total(entries) <= MAX_MESSAGES
    assert messages(entries["deploy"])[0]


def test_what_was_cut_when_it_was_stored_is_no_news() -> None:
    status = with_entry(InstanceStatus(), entry("deploy", [S.ERROR] * 500))
    later = entry("deploy", [S.ERROR] * 500, when="2026-01-01T00:01:00Z")
    assert with_entry(status, later) == status


def test_entries_that_differ_in_messages_alone_are_told_from_others() -> None:
    one = entry("deploy", [S.IN_PROGRESS])
    later = {"last_updated_timestamp": "2027-01-01T00:00:00Z"}
    other = entry("deploy", [S.IN_PROGRESS]).model_copy(update={"message": "text", **later})
    assert only_messages_differ(one, other)
    assert not only_messages_differ(one, one)
    assert not only_messages_differ(one, entry("deploy", [S.ERROR]))
    assert not only_messages_differ(one, other.model_copy(update={"uid": "v"}))
    assert not only_messages_differ(one, other.model_copy(update={"status": S.COMPLETE}))
    task = TaskStatus(name="t", status=S.COMPLETE)
    step = StepStatus(name="s0", status=S.IN_PROGRESS, tasks=(task,))
    phases = (PhaseStatus(name="p", status=S.IN_PROGRESS, steps=(step,)),)
    assert not only_messages_differ(one, other.model_copy(update={"phases": phases}))


def test_the_uid_of_a_job_is_no_message() -> None:
    def of(**fields: str) -> PlanStatus:
        task = TaskStatus(name="t", status=S.IN_PROGRESS, **fields)
        step = StepStatus(name="s", status=S.IN_PROGRESS, tasks=(task,))
        phases = (PhaseStatus(name="p", status=S.IN_PROGRESS, steps=(step,)),)
        return entry("deploy", [S.IN_PROGRESS]).model_copy(update={"phases": phases})

    waits = of(message="waits")
    assert only_messages_differ(waits, of(message="runs", applied="12345678"))
    assert not only_messages_differ(waits, of(message="runs", job_uid="u"))
