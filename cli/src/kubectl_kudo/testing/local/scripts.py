"""Finds the commands of a shell script, and replaces lines of it. Nothing is run.

This is no shell: lines, `;`, `&&`, `||`, `|` and `&` end a command, here-documents are skipped, and
words of control structures before a command are left out. What a variable or a function runs is
not seen.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from kudo_harness.suite.words import NotClosed, split

_SHELLS: Final = frozenset({"sh", "bash", "dash"})
_HERE: Final = re.compile(r"<<-?\s*[\"']?([A-Za-z_]\w*)")
_OPERATORS: Final = re.compile(r"&&|\|\||[;|]|(?<![<>])&(?!>)")
_REDIRECTION: Final = re.compile(r"\d*(>>|<<<|<>|>\||[<>]&?|&>>?)(?P<target>.*)")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_BEFORE: Final = frozenset(
    {"!", "(", "{", "do", "else", "exec", "if", "nohup", "sudo", "then", "time", "until", "while"}
)
"""Words that stand before the command itself."""
_WITH_OPTIONS: Final = frozenset({"env", "timeout"})
_DURATION: Final = re.compile(r"[0-9.]+[smhd]?")


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """A line of a script; continued lines are one.

    Attributes:
        first: Its first line in the script, from 0.
        last: Its last one.
        commands: The words of its commands.
    """

    first: int
    last: int
    commands: tuple[tuple[str, ...], ...]


def script_lines(script: str) -> Iterator[ScriptLine]:
    """Yield the lines of a script that hold commands."""
    lines = script.splitlines()
    number, end = 0, ""
    while number < len(lines):
        first, parts = number, [lines[number]]
        while parts[-1].endswith("\\") and number + 1 < len(lines):
            number += 1
            parts[-1] = parts[-1][:-1]
            parts.append(lines[number])
        number += 1
        text = " ".join(parts)
        if end:
            end = "" if text.strip() == end else end
            continue
        if here := _HERE.search(text):
            end = here[1]
        if commands := _commands(text):
            yield ScriptLine(first, number - 1, commands)


def without_lines(script: str, dropped: list[ScriptLine]) -> str:
    """Return a script in which nothing happens in some lines; the others keep their numbers."""
    lines = script.splitlines()
    for line in dropped:
        lines[line.first : line.last + 1] = ["true"] + [""] * (line.last - line.first)
    return "\n".join(lines) + "\n"


def script_of(words: list[str]) -> str | None:
    """Return the script that a command gives to a shell, as in `sh -c SCRIPT`; None for others."""
    match words:
        case [shell, flags, script] if PurePath(shell).name in _SHELLS:
            return script if re.fullmatch(r"-[a-z]*c", flags) else None
    return None


def without_prefix(words: list[str]) -> list[str]:
    """Return the words of a command from its program on, such as without `env A=b timeout 60`."""
    position, options = 0, False
    for word in words:
        if options and (word.startswith("-") or _DURATION.fullmatch(word)):
            position += 1
        elif _ASSIGNMENT.match(word) or word in _BEFORE or word in _WITH_OPTIONS:
            options = word in _WITH_OPTIONS
            position += 1
        else:
            break
    return words[position:]


def _commands(line: str) -> tuple[tuple[str, ...], ...]:
    found = (_words(part) for part in _parts(line))
    return tuple(tuple(words) for words in found if words)


def _parts(line: str) -> list[str]:
    """Return the commands of a line; quotes keep operators in them from being ones."""
    parts, quote, start, position = [], "", 0, 0
    while position < len(line):
        character = line[position]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "\\":
            position += 1
        elif character == "#" and (position == 0 or line[position - 1].isspace()):
            line = line[:position]
        elif operator := _OPERATORS.match(line, position):
            parts.append(line[start:position])
            start = position = operator.end()
            continue
        position += 1
    return [*parts, line[start:]]


def _words(text: str) -> list[str]:
    try:
        words = split(text)
    except NotClosed:
        words = text.split()
    return without_prefix(list(_without_redirections(words)))


def _without_redirections(words: list[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        redirection = _REDIRECTION.fullmatch(word)
        if redirection is None:
            yield word
        elif not redirection["target"]:
            next(rest, None)
