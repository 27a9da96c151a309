"""The exit codes: one for each cause that a script may want to tell apart."""

import os
import pty
from pathlib import Path

import pytest

from kubectl_kudo.session.errors import CliError, ExitCode, UsageError, exit_code
from kubectl_kudo.session.terminal import coloured
from kubeio.errors import ConfigError, ConnectionLost, error_from_status
from kudo.api.problems import InvalidInput, KudoError, Problem


def test_no_code_of_the_shell_or_of_python_is_used_for_something_else() -> None:
    own = {code.value for code in ExitCode}
    assert len(own) == len(ExitCode)
    # 126 and 127: a shell that found no command. 128 and more: signals. 1 is a traceback of Python
    # as well, but no command shows one; a failed test case has ended with it since KUDO 0.19.
    assert own.isdisjoint({*range(126, 255)} - {130, 143})
    assert ExitCode.TEST_FAILED.value == 1
    assert all(code.meaning.endswith(".") for code in ExitCode)


def test_errors_of_every_layer_have_a_code() -> None:
    rows = [
        (CliError("no"), ExitCode.ERROR),
        (CliError("no", code=ExitCode.PLAN_FAILED), ExitCode.PLAN_FAILED),
        (UsageError("no"), ExitCode.USAGE),
        (KudoError("no"), ExitCode.ERROR),
        (InvalidInput([Problem("PackageInvalid", "no")]), ExitCode.ERROR),
        (InvalidInput([Problem("PackageNotFound", "no")]), ExitCode.NOT_FOUND),
        (InvalidInput([Problem("OperatorVersionNotFound", "no")]), ExitCode.NOT_FOUND),
        (ConfigError("no"), ExitCode.ERROR),
        (ConnectionLost("no"), ExitCode.ERROR),
        (ConnectionLost("no", timeout=True), ExitCode.TIMED_OUT),
        (error_from_status({"code": 401}), ExitCode.DENIED),
        (error_from_status({"code": 403}), ExitCode.DENIED),
        (error_from_status({"code": 404}), ExitCode.NOT_FOUND),
        (error_from_status({"code": 409}), ExitCode.ERROR),
        (error_from_status({"code": 422}), ExitCode.DENIED),
        (error_from_status({"code": 400, "message": "x denied the request: y"}), ExitCode.DENIED),
        (error_from_status({"code": 500}), ExitCode.ERROR),
        (error_from_status({"code": 504}), ExitCode.TIMED_OUT),
        (ExceptionGroup("g", [UsageError("no")]), ExitCode.USAGE),
    ]
    assert [(error, exit_code(error)) for error, _ in rows] == rows


def test_an_error_without_a_code_of_its_own_has_that_of_its_cause() -> None:
    error = CliError("cannot install: no")
    error.__cause__ = error_from_status({"code": 403})
    assert exit_code(error) is ExitCode.DENIED
    named = CliError("no", code=ExitCode.INVALID)
    named.__cause__ = error.__cause__
    assert exit_code(named) is ExitCode.INVALID


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, True),
        ({"NO_COLOR": ""}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "0"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_colours_are_for_terminals_and_can_be_turned_off(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0), os.fdopen(theirs, "w") as terminal:
        assert coloured(terminal) is expected
    with Path(os.devnull).open("w") as file:
        assert not coloured(file)
