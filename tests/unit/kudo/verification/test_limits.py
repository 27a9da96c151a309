"""What `package verify` finds in the time limits of a package."""

from typing import Any

import pytest

from kudo.packages.model import Package
from kudo.verification import Severity, verify
from tests.unit.kudo.verification.test_verification import APPLY, package, task, tasks, using

Json = dict[str, Any]


def limited(
    *,
    plan: str | None = None,
    phase: str | None = None,
    step: str | None = None,
    more: Json | None = None,
    **limits: str,
) -> Package:
    """Return a package with limits of the plan deploy, of what is in it, and of the task app."""
    steps = [{"name": "db", "tasks": ["app"], "timeout": step}]
    phases = [{"name": "main", "steps": steps, "timeout": phase}]
    plans = {"deploy": {"phases": phases, "timeout": plan}, **(more or {})}
    return package(tasks=[{**APPLY, **limits}], plans=plans)


def findings(of: Package, code: str) -> list[str]:
    """Return place and message of the findings of one code; there are no others."""
    found = verify(of)
    assert {finding.code for finding in found} <= {code, "TaskUnused"}
    severity = Severity.ERROR if code == "TimeLimitInvalid" else Severity.WARNING
    chosen = [finding for finding in found if finding.code == code]
    assert {finding.severity for finding in chosen} <= {severity}
    assert all(finding.suggestion and finding.place.line for finding in chosen)
    return [f"{finding.place.field}: {finding.problem.message}" for finding in chosen]


def test_limits_that_can_pass_are_no_findings() -> None:
    of = limited(plan="1h", phase="50m", step="40m", timeout="30m", progressDeadline="5m")
    assert verify(of) == ()
    assert verify(limited(timeout="30m", step="", phase="")) == ()


def test_a_limit_that_is_no_duration_is_an_error(subtests: pytest.Subtests) -> None:
    table: list[tuple[dict[str, str], str]] = [
        ({"plan": "soon"}, 'plans.deploy.timeout: timeout of plan "deploy" cannot be used: '),
        (
            {"phase": "10"},
            'plans.deploy.phases[0].timeout: timeout of phase "main" cannot be used: ',
        ),
        (
            {"step": "0s"},
            'plans.deploy.phases[0].steps[0].timeout: timeout of step "db" cannot be used: ',
        ),
        ({"timeout": "1d"}, 'tasks[app].timeout: timeout of task "app" cannot be used: '),
        (
            {"progressDeadline": "-5m"},
            'tasks[app].progressDeadline: progressDeadline of task "app" cannot be used: ',
        ),
    ]
    for limits, expected in table:
        with subtests.test(limits=limits, expected=expected):
            (text,) = findings(limited(**limits), "TimeLimitInvalid")  # type: ignore[arg-type]
            assert text.startswith(expected)


ONE = "plans.deploy.phases[0]"
AGAIN: Json = {"again": {"phases": [{"name": "p", "steps": [{"name": "s", "tasks": ["app"]}]}]}}


def test_a_limit_that_another_one_precedes_everywhere_never_passes() -> None:
    table: list[tuple[dict[str, Any], list[str]]] = [
        (
            {"plan": "1h", "phase": "60m"},
            [
                (
                    f'{ONE}.timeout: timeout 60m of phase "main" never passes: '
                    'plan "deploy" has the timeout 1h'
                )
            ],
        ),
        (
            {"plan": "1h", "phase": "30m", "step": "2h"},
            [
                (
                    f'{ONE}.steps[0].timeout: timeout 2h of step "db" never passes: '
                    'phase "main" has the timeout 30m'
                )
            ],
        ),
        (
            {"plan": "1h", "step": "2h"},
            [
                (
                    f'{ONE}.steps[0].timeout: timeout 2h of step "db" never passes: '
                    'plan "deploy" has the timeout 1h'
                )
            ],
        ),
        (
            {"step": "10m", "timeout": "10m"},
            [
                (
                    'tasks[app].timeout: timeout 10m of task "app" never passes: '
                    'step "db" has the timeout 10m'
                )
            ],
        ),
        (
            {"timeout": "5m", "progressDeadline": "10m"},
            [
                (
                    'tasks[app].progressDeadline: progressDeadline 10m of task "app" never passes: '
                    'task "app" has the timeout 5m'
                )
            ],
        ),
        (
            {"plan": "1m", "progressDeadline": "10m"},
            [
                (
                    'tasks[app].progressDeadline: progressDeadline 10m of task "app" never passes: '
                    'plan "deploy" has the timeout 1m'
                )
            ],
        ),
        ({"step": "10m", "timeout": "20m", "more": AGAIN}, []),
        ({"step": "10m", "progressDeadline": "20m", "more": AGAIN}, []),
        ({"step": "10m", "timeout": "9m59s"}, []),
    ]
    for limits, expected in table:
        assert findings(limited(**limits), "TimeLimitUnreachable") == expected


def test_a_limit_that_cannot_be_read_is_compared_with_none() -> None:
    assert len(findings(limited(plan="x", step="1h", timeout="1m"), "TimeLimitInvalid")) == 1


def test_a_limit_of_a_dummy_that_ends_at_once_is_warned_of(subtests: pytest.Subtests) -> None:
    table: list[tuple[Json, str | None]] = [
        ({"done": True}, "it waits for nothing"),
        ({"wantErr": True, "fatal": True}, "it waits for nothing"),
        ({"wantErr": True, "done": True}, None),
        ({"done": False}, None),
    ]
    for spec, why in table:
        with subtests.test(spec=spec, why=why):
            dummy = {**task("Dummy", **spec), "timeout": "1m"}
            found = findings(package(tasks=tasks(dummy), plans=using("x")), "TimeLimitUnused")
            assert found == (
                [f'tasks[x].timeout: timeout of task "x" has no effect: {why}'] if why else []
            )


def test_limits_of_a_task_that_no_step_names_are_warned_of() -> None:
    unused = {**task("Dummy"), "timeout": "2m", "progressDeadline": "1m"}
    assert findings(package(tasks=tasks(unused)), "TimeLimitUnused") == [
        'tasks[x].timeout: timeout of task "x" has no effect: no step names the task',
        (
            'tasks[x].progressDeadline: progressDeadline of task "x" has no effect: '
            "no step names the task"
        ),
    ]


def test_a_delete_that_does_not_wait_is_retried_so_its_limit_counts() -> None:
    delete = {**task("Delete", resources=["a.yaml"], wait=False), "timeout": "1m"}
    assert verify(package(tasks=tasks(delete), plans=using("x"))) == ()
