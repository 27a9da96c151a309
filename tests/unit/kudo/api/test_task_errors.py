"""Messages of tasks: their words of KUDO 0.19, which people are not shown."""

import pytest

from kudo.api.task_errors import cause_in
from kudo.api.task_kinds import FatalTaskError, TaskPath, TransientTaskError

PATH = TaskPath("ns/i", "deploy", "main", "app", "pot")
FAILED_JOB = 'job "a-job" has failed terminally: container job ended with exit code 3'
UNHEALTHY = f"object ns/a-job is NOT healthy: fatal error: HealthUtil: {FAILED_JOB}"


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (PATH.fatal_message(FatalTaskError("FailedTerminalStateError", UNHEALTHY)), FAILED_JOB),
        (
            PATH.fatal_message(FatalTaskError("UnknownTaskName", "missing task pot")),
            "missing task pot",
        ),
        (PATH.transient_message(TransientTaskError("TaskApplyError", "no right")), "no right"),
        ("Error during execution: fatal error: it broke", "it broke"),
        (
            (
                "Error during execution: fatal error: ns/p failed in deploy.a.b.c: object ns/i is "
                "NOT healthy: fatal error: HealthUtil: instance ns/i plan deploy ended with "
                "FATAL_ERROR: Error during execution: fatal error: ns/i failed in deploy.a.b.c: no"
            ),
            "instance ns/i plan deploy ended with FATAL_ERROR: no",
        ),
        ("the log has 'fatal error: out of memory'", "the log has 'fatal error: out of memory'"),
        ("", ""),
    ],
)
def test_a_message_is_shown_from_its_cause_on(message: str, cause: str) -> None:
    assert cause_in(message) == cause


def test_the_words_are_found_in_time_whatever_a_message_is() -> None:
    for text in ("/" * 100_000, "a/" * 50_000, "object " * 20_000, "fatal error:  " * 10_000):
        assert cause_in(text) == text
