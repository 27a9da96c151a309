"""Errors of the command line: their texts and exit codes.

CliError          an expected failure; its text is for the user
└── UsageError    the command line itself is wrong

`describe` is the one place that turns an error of any layer into that text. An error that it does
not know is a bug and keeps its traceback.
"""

import re
from collections.abc import Iterable, Sequence

# Type checkers read it as True. Importing `typing` would take 5 % of the time of `--help`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from kubeio.errors import ApiError
    from kudo.problems import Problem

_LONGEST = 4000
"""Characters of a text of the server that are shown."""
_OWN_WEBHOOK = re.compile(r'admission webhook "[^"]*kudo\.dev" denied the request: ')

EXIT_OK = 0
EXIT_ERROR = 255
"""Exit code of KUDO 0.19 for every error; scripts test for non-zero."""
EXIT_INTERRUPTED = 130


class CliError(Exception):
    """An expected failure, described in one sentence."""


class UsageError(CliError):
    """The command line is invalid."""


def no_arguments(command: str, given: Sequence[str], hint: str = "") -> None:
    """Raise UsageError if a command that takes none was given arguments."""
    if given:
        text = f"expecting no arguments provided for {command}. Only named flags are accepted"
        raise UsageError(f"{text}; {hint}" if hint else text)


def describe(error: BaseException) -> str | None:
    """Return what to tell the user, or None if the error is not an expected one."""
    if isinstance(error, CliError):
        return _with_notes(error, str(error), separator="\n")
    if isinstance(error, BaseExceptionGroup):
        return describe(error.exceptions[0]) if len(error.exceptions) == 1 else None
    return _of_the_domain(error) or _of_the_cluster(error)


def _of_the_domain(error: BaseException) -> str | None:
    from kudo.problems import InvalidInput, KudoError

    if isinstance(error, InvalidInput):
        return listed("", error.problems)
    return str(error) if isinstance(error, KudoError) else None


def _of_the_cluster(error: BaseException) -> str | None:
    from kubeio.errors import ApiError, ConfigError, ConnectionLost, KubeError

    if isinstance(error, ApiError):
        return _with_notes(error, _api_error(error))
    if isinstance(error, ConnectionLost):
        return _with_notes(error, f"no answer from the API server: {error}")
    if isinstance(error, ConfigError):
        return f"cannot use the cluster's configuration: {error}"
    return str(error) if isinstance(error, KubeError) else None


def _with_notes(error: BaseException, text: str, separator: str = "; ") -> str:
    """Return the text with what `add_note` added to the error on its way."""
    return separator.join([text, *getattr(error, "__notes__", ())])


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
    return _cut("\n  ".join([text, *more]))


def _cut(text: str) -> str:
    rest = len(text) - _LONGEST
    return text if rest <= 0 else f"{text[:_LONGEST]}… ({rest} more characters)"


def listed(headline: str, problems: Iterable["Problem"]) -> str:
    """Return one problem in the line of the headline, several on lines of their own."""
    texts = [str(problem) for problem in problems]
    if len(texts) == 1:
        return f"{headline} {texts[0]}".strip()
    return "\n  ".join([headline, *texts] if headline else texts)
