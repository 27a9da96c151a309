"""Asks the author questions on a terminal, one line each, and checks what the author types."""

import re
import sys
from collections.abc import Callable, Sequence
from typing import Final

from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.names import name_fault
from kubeio.names import MAX_LABEL
from kudo.api.semver import precedence

_EMAIL: Final = re.compile(r"[^@\s<>]+@[^@\s<>]+")
Check = Callable[[str], str]
"""Returns what is wrong with an answer; empty if nothing is."""


def on_terminal() -> bool:
    """Return whether somebody can be asked."""
    return sys.stdin.isatty()


def anything(answer: str) -> str:  # noqa: ARG001
    return ""


def needed(answer: str) -> str:
    return "" if answer else "an answer is needed"


def confirmed(question: str) -> bool:
    """Ask whether to do something that was shown; return whether the answer is yes.

    Not to be called in a session: reading a line would hold the event loop, and ctrl-C with it.
    """
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def ask(question: str, default: str = "", check: Check = anything) -> str:
    """Return an answer that passes the check; that to an empty line is the default.

    Raises:
        CliError: the input ended before.
    """
    shown = f" [{default}]" if default else ""
    while True:
        print(f"{question}{shown}: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise CliError(f'the input ended before "{question}" was answered; nothing is written')
        answer = line.strip() or default
        fault = check(answer)
        if not fault:
            return answer
        print(fault, file=sys.stderr)


def choose(question: str, options: Sequence[str], default: str = "") -> str:
    """Return one of the options."""

    def check(answer: str) -> str:
        return "" if answer in options else f"one of {', '.join(options)}"

    return ask(f"{question} ({', '.join(options)})", default, check)


def agree(question: str, *, default: bool = False) -> bool:
    """Return whether the answer is yes."""
    answer = choose(question, ("y", "n"), "y" if default else "n")
    return answer == "y"


def operator_name_fault(name: str) -> str:
    return name_fault("operator", name, MAX_LABEL) if name else "an answer is needed"


def version_fault(version: str) -> str:
    is_version = precedence(version) is not None
    return "" if is_version else f'"{version}" is not a semantic version such as 1.2.0'


def optional_version_fault(version: str) -> str:
    return version_fault(version) if version else ""


def email_fault(email: str) -> str:
    return "" if _EMAIL.fullmatch(email) else f'"{email}" is not an address such as me@example.com'


def optional_email_fault(email: str) -> str:
    return email_fault(email) if email else ""
