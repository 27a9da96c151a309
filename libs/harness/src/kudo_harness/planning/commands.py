"""What is done for the commands of a suite on a cluster that the harness starts. Nothing is run.

Nodes are simulated there and KUDO runs as processes. Commands that install KUDO, run its manager,
or prepare images for nodes are replaced; others that need Docker or kind are errors.

Scripts are not interpreted: lines, `;`, `&&`, `||`, `|` and `&` end a command, here-documents are
skipped, and words of control structures before a command are left out. What a variable or a
function runs is not seen.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from kudo_harness.findings import Findings
from kudo_harness.planning.plan import Action, KudoVerdict, PlannedCommand, Substitution, Verdict
from kudo_harness.suite import Command
from kudo_harness.suite.words import NotClosed, expand, split

_SHELLS: Final = frozenset({"sh", "bash", "dash"})
# What follows is text until this word stands alone: it may look like commands.
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
        # `true`, since a branch of `if` without a command would be a syntax error.
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
    commands = (_words(part) for part in _parts(line))
    return tuple(tuple(words) for words in commands if words)


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
            # A comment; within a word `#` is a character.
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
        # A quote that goes on in the next line: its beginning names the program all the same.
        words = text.split()
    return without_prefix(list(_without_redirections(words)))


def _without_redirections(words: list[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        redirection = _REDIRECTION.fullmatch(word)
        if redirection is None:
            yield word
        # The file stands in the next word.
        elif not redirection["target"]:
            next(rest, None)


_MANAGER: Final = re.compile(r"(\./)?(cmd/manager(/main\.go|/)?|\S*bin/(kudo-)?manager)")
"""The manager of KUDO 0.19: its Go package, and the program that its Makefile builds."""
_MAKE_MANAGER: Final = frozenset({"run", "manager", "run-manager"})
_PLUGIN_SOURCE: Final = re.compile(r"(\./)?cmd/kubectl-kudo(/main\.go|/)?")
_HARMLESS: Final = frozenset({":", "cat", "echo", "grep", "sleep", "tee", "true"})
"""Programs that may be left out together with the command before them."""
_IMAGES: Final = frozenset({"build", "buildx", "image", "load", "pull", "tag"})
"""Commands of docker that only prepare images."""
_SHOWN: Final = 80
_NO_DOCKER: Final = (
    "there is no Docker and no kind here, where the cluster consists of processes: remove the "
    "command, or run the suite with --kubeconfig on a cluster of kind"
)


_RUNS: Final = Verdict()


@dataclass(slots=True)
class CommandPlanner:
    """Plans the commands of a suite on a cluster of our own.

    Attributes:
        variables: Variables in commands.
        kudo: Says what is done for a command of `kubectl kudo`.
        kudo_manager: Whether a manager in the folder of the run is that of KUDO.
        findings: Where errors are noted.
        substitutions: Where what is done instead is noted.
    """

    variables: Mapping[str, str]
    kudo: KudoVerdict
    kudo_manager: bool
    findings: Findings
    substitutions: list[Substitution]

    def plan(self, command: Command) -> tuple[PlannedCommand, ...]:
        """Return what is done for a command, in order."""
        if command.script:
            return self._script(command, command.script)
        try:
            words = split(expand(command.command, self.variables))
        except NotClosed:
            # The error tells its line once the command runs: variables are known only then.
            return (PlannedCommand(command),)
        if (script := script_of(words)) is not None:
            return self._script(command, script)
        verdict = self._verdict(without_prefix(words), command)
        self._note(command, command.command, verdict)
        return (PlannedCommand(command, verdict.action),)

    def _script(self, command: Command, script: str) -> tuple[PlannedCommand, ...]:
        lines = list(script_lines(script))
        dropped, actions = [], []
        for line in lines:
            for words in line.commands:
                verdict = self._verdict(list(words), command)
                if verdict.runs:
                    continue
                others = {other[0] for other in line.commands if other != words}
                if others - _HARMLESS and not verdict.problem:
                    # Without the line, the other commands in it would not run either.
                    problem = (
                        f"what is done for it ({verdict.replacement}) cannot be done in the midst "
                        "of a line of a script; write it on a line of its own"
                    )
                    verdict = Verdict(problem=problem)
                self._note(command, " ".join(words), verdict)
                actions.append(verdict.action)
                dropped.append(line)
        if not dropped:
            return (PlannedCommand(command),)
        # KUDO is installed before the rest of the script, which needs it.
        action = Action.INSTALL_KUDO if Action.INSTALL_KUDO in actions else Action.SKIP
        if len(dropped) == len(lines):
            return (PlannedCommand(command, action),)
        rest = replace(command, command="", script=without_lines(script, dropped), namespaced=False)
        first = (PlannedCommand(command, action),) if action is Action.INSTALL_KUDO else ()
        return (*first, PlannedCommand(rest))

    def _note(self, command: Command, text: str, verdict: Verdict) -> None:
        shown = _shown(text)
        if verdict.problem:
            self.findings.error("CannotBeMapped", f"{shown}: {verdict.problem}", command.place)
        elif not verdict.runs:
            self.substitutions.append(Substitution(command.place, shown, verdict.replacement))

    def _verdict(self, words: list[str], command: Command) -> Verdict:
        if not words:
            return _RUNS
        program, rest = PurePath(words[0]).name, words[1:]
        if (arguments := _plugin_arguments(words)) is not None:
            return self.kudo(arguments)
        if self.kudo_manager and _is_manager(words, background=command.background):
            return Verdict(
                Action.INSTALL_KUDO, "the webhook and the reconciler of this version run instead"
            )
        if program in {"docker", "podman", "nerdctl"}:
            return _of_docker(rest)
        if program == "kind":
            return _of_kind(rest)
        return _RUNS


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _plugin_arguments(words: list[str]) -> list[str] | None:
    """Return the arguments of `kubectl kudo`; None for other programs."""
    match words:
        case [program, *rest] if PurePath(program).name == "kubectl-kudo":
            return rest
        case [program, "kudo", *rest] if PurePath(program).name == "kubectl":
            return rest
        case ["go", "run", source, *rest] if _PLUGIN_SOURCE.fullmatch(source):
            return rest
    return None


def _is_manager(words: list[str], *, background: bool) -> bool:
    match words:
        case ["go", "run", *rest]:
            return any(_MANAGER.fullmatch(word) for word in rest)
        case ["make", *rest] if background:
            return any(word in _MAKE_MANAGER for word in rest)
        case [program, *_]:
            return bool(_MANAGER.fullmatch(program))
    return False


def _of_docker(rest: list[str]) -> Verdict:
    if rest and rest[0] in _IMAGES:
        return Verdict(Action.SKIP, "skipped: simulated nodes run no images")
    return Verdict(problem=_NO_DOCKER)


def _of_kind(rest: list[str]) -> Verdict:
    if rest and rest[0] == "load":
        return Verdict(Action.SKIP, "skipped: simulated nodes run no images")
    return Verdict(problem=_NO_DOCKER)
