"""Errors of the command line: their texts and exit codes.

CliError          an expected failure; its text is for the user
└── UsageError    the command line itself is wrong

`describe` is the one place that turns an error of any layer into that text, and `exit_code` the one
that chooses its exit code. An error that `describe` does not know is a bug; `-v 9` shows where.
"""

import enum
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kubectl_kudo.session.terminal import continued

if TYPE_CHECKING:  # commands that need no cluster import no client
    from kubeio.errors import ApiError
    from kudo.api.problems import Problem

_LONGEST = 4000
"""Characters of a text of the server that are shown."""
_OWN_WEBHOOK = re.compile(r'admission webhook "[^"]*kudo\.dev" denied the request: ')


class ExitCode(enum.IntEnum):
    """The exit codes of commands.

    KUDO 0.19 ended with 255 after every error. Scripts test for non-zero.
    """

    meaning: str

    def __new__(cls, value: int, meaning: str) -> "ExitCode":
        """Create a member with the sentence that the table in docs/cli/exit-codes.md has of it."""
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    OK = 0, "The command has done what it was asked for."
    TEST_FAILED = 1, "A test case or golden file failed, or accounts lack rights (rbac --check)."
    USAGE = 2, "The command line is wrong: an unknown command or flag, or a missing argument."
    NOT_FOUND = 3, "The Instance, package, repository or other object does not exist."
    DENIED = 4, "The API server, a webhook or the same rules on the client deny the request."
    INVALID = 5, "The package, installation or test suite was verified and is not valid."
    PLAN_FAILED = 6, "The plan that was waited for has failed."
    TIMED_OUT = 7, "A time limit is over: --wait-time, --wait-timeout or --request-timeout."
    INTERRUPTED = 130, "Ctrl-C was pressed."
    TERMINATED = 143, "SIGTERM ended the command, which did what it does at Ctrl-C."
    ERROR = 255, "Any other error: no connection, an unreadable file, a bug and all else."


_ABSENT = frozenset({"OperatorVersionNotFound", "PackageNotFound", "RepositoryUnknown"})
"""Reasons of problems: what was named does not exist."""
_CODES = {
    401: ExitCode.DENIED,
    403: ExitCode.DENIED,
    404: ExitCode.NOT_FOUND,
    422: ExitCode.DENIED,
    504: ExitCode.TIMED_OUT,
}
"""Exit codes by HTTP status."""
_DENIED_BY_WEBHOOK = "denied the request"
"""In messages of the API server; the webhook chooses the HTTP status."""


class CliError(Exception):
    """An expected failure, described in one sentence.

    Args:
        text: The sentence.
        code: The exit code. By default that of the cause, if an error was the cause.
    """

    code = ExitCode.ERROR

    def __init__(self, text: str, *, code: ExitCode | None = None) -> None:
        super().__init__(text)
        self.code = code or self.code


def denied(reason: str, text: str) -> CliError:
    """Return the error of a request that the webhook would deny, and that is not sent."""
    return CliError(f"the request would be denied ({reason}): {text}", code=ExitCode.DENIED)


class UsageError(CliError):
    """The command line is invalid."""

    code = ExitCode.USAGE


def no_arguments(command: str, given: Sequence[str]) -> None:
    """Raise UsageError if a command that takes none was given arguments."""
    if given:
        text = f"expecting no arguments provided for {command}. Only named flags are accepted"
        raise UsageError(text)


def describe(error: BaseException) -> str | None:
    """Return what to tell the user, or None if the error is not an expected one."""
    if isinstance(error, CliError):
        return _with_notes(error, str(error))
    if isinstance(error, BaseExceptionGroup):
        return describe(error.exceptions[0]) if len(error.exceptions) == 1 else None
    # Imported here: a command that needs no cluster imports no client unless it fails.
    from kubeio.errors import ApiError, ConfigError, ConnectionLost, KubeError
    from kudo.api.problems import InvalidInput, KudoError

    if isinstance(error, InvalidInput):
        return listed("", error.problems)
    if isinstance(error, ApiError):
        return _with_notes(error, _api_error(error))
    if isinstance(error, ConnectionLost):
        # The request matters only if it was sent: `-v 6` shows those.
        reason = str(error) if error.maybe_sent else error.reason
        return _with_notes(error, f"no answer from the API server: {reason}")
    if isinstance(error, ConfigError):
        return f"cannot use the cluster's configuration: {error}"
    return continued(str(error)) if isinstance(error, KudoError | KubeError) else None


def bug(error: BaseException) -> str:
    """Return what to tell the user about an error that `describe` does not know."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"internal error, please report it with the output of `-v 9`: {continued(text)}"


def is_denied(error: "ApiError") -> bool:
    """Return whether a webhook denied a request, and not the rights of the user."""
    return _DENIED_BY_WEBHOOK in error.message


def exit_code(error: BaseException) -> ExitCode:
    """Return the exit code of an expected error."""
    if isinstance(error, BaseExceptionGroup):
        return exit_code(error.exceptions[0])
    code = error.code if isinstance(error, CliError) else _code_of_others(error)
    # What a command adds to the text of an error leaves its code as it is.
    if code is ExitCode.ERROR and error.__cause__ is not None:
        return exit_code(error.__cause__)
    return code


def _code_of_others(error: BaseException) -> ExitCode:
    from kubeio.errors import ApiError, ConnectionLost
    from kudo.api.problems import InvalidInput

    if isinstance(error, InvalidInput):
        is_absent = any(problem.reason in _ABSENT for problem in error.problems)
        return ExitCode.NOT_FOUND if is_absent else ExitCode.ERROR
    if isinstance(error, ApiError):
        return ExitCode.DENIED if is_denied(error) else _CODES.get(error.status, ExitCode.ERROR)
    is_late = isinstance(error, ConnectionLost) and error.timeout
    return ExitCode.TIMED_OUT if is_late else ExitCode.ERROR


def _with_notes(error: BaseException, text: str) -> str:
    """Return the text with what `add_note` added to the error on its way.

    A note that begins with a line end stands on lines of its own.
    """
    for note in getattr(error, "__notes__", ()):
        text += note if note.startswith("\n") else f"; {note}"
    return text


def _api_error(error: "ApiError") -> str:
    """Return the server's message, and those of its causes that it does not contain.

    A message can be as long as what was sent. One of the webhook of KUDO says itself what failed,
    so the name of the webhook is left out; that of another webhook says who denied the request.
    """
    text = _OWN_WEBHOOK.sub("", error.message or str(error))
    more = (
        f"{cause.field}: {cause.message}" if cause.field else cause.message
        for cause in error.causes
        if cause.message and cause.message not in text
    )
    whole = "\n  ".join(map(continued, [text, *more]))
    rest = len(whole) - _LONGEST
    shown = whole if rest <= 0 else f"{whole[:_LONGEST]}… ({rest} more characters)"
    return shown + _unanswered(text)


def _unanswered(text: str) -> str:
    """Return what to look at if a webhook did not answer; empty if the error is another one."""
    from kudo.objects.api_errors import unreached_webhook

    webhook = unreached_webhook(text)
    if webhook is None:
        return ""
    if not webhook.is_of_kudo:
        return "\n  check the pods of that webhook, then run the same command again"
    where = webhook.namespace or "kudo-system"
    return (
        "\n  The webhook of KUDO does not answer. Look at its Deployment, Service and certificate:"
        f"\n    kubectl get deployments,services,endpointslices -n {where}"
        "\n    kubectl kudo why"
        "\n  For a report: kubectl kudo diagnostics collect"
    )


def listed(headline: str, problems: Iterable["Problem"]) -> str:
    """Return one problem in the line of the headline, several on lines of their own."""
    texts = [continued(str(problem)) for problem in problems]
    if len(texts) == 1:
        return f"{headline} {texts[0]}".strip()
    return "\n  ".join([headline, *texts] if headline else texts)
