"""What is done for the commands of a suite on a cluster that the harness starts.

Nodes are simulated there and KUDO runs as processes: commands that install KUDO, run its manager,
or prepare images for nodes have something else done for them, and others that need Docker or kind
are errors.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePath
from typing import Final

from kubectl_kudo.commands.init import COMMAND as INIT
from kubectl_kudo.session.arguments import GLOBAL_FLAGS, Args, Parser
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.testing.local.planned import Action, Mapped, PlannedCommand
from kubectl_kudo.testing.local.scripts import (
    script_lines,
    script_of,
    without_lines,
    without_prefix,
)
from kudo_harness.findings import Findings
from kudo_harness.suite import Command
from kudo_harness.suite.variables import expand
from kudo_harness.suite.words import NotClosed, split

_MANAGER: Final = re.compile(r"(\./)?(cmd/manager(/main\.go|/)?|\S*bin/(kudo-)?manager)")
"""The manager of KUDO 0.19: its Go package, and the program that its Makefile builds."""
_MAKE_MANAGER: Final = frozenset({"run", "manager", "run-manager"})
_PLUGIN_SOURCE: Final = re.compile(r"(\./)?cmd/kubectl-kudo(/main\.go|/)?")
_HARMLESS: Final = frozenset({":", "cat", "echo", "grep", "sleep", "tee", "true"})
"""Programs that may be left out together with the command before them."""
_IMAGES: Final = frozenset({"build", "buildx", "image", "load", "pull", "tag"})
"""Commands of docker that only prepare images."""
_MEANINGLESS: Final = (
    "namespace",
    "kudo_image",
    "version",
    "image_registry",
    "kudo_image_pull_policy",
    "service_account",
)
"""Flags of `init` that say something about pods, which KUDO has none of here."""
_SHOWN: Final = 80
_NO_DOCKER: Final = (
    "there is no Docker and no kind here, where the cluster consists of processes: remove the "
    "command, or run the suite with --kubeconfig on a cluster of kind"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is done for the words of a command.

    Attributes:
        action: What is done in its place.
        done: The same in words.
        problem: Why it cannot be run and nothing can be done in its place; empty if all is well.
    """

    action: Action = Action.RUN
    done: str = ""
    problem: str = ""

    @property
    def runs(self) -> bool:
        return self.action is Action.RUN and not self.problem


_RUNS: Final = Verdict()


@dataclass(slots=True)
class CommandPlanner:
    """Plans the commands of a suite on a cluster of our own.

    Attributes:
        variables: Variables in commands.
        kudo_manager: Whether a manager in the folder of the run is that of KUDO.
        findings: Where errors are noted.
        lines: Where what is done instead is noted.
    """

    variables: Mapping[str, str]
    kudo_manager: bool
    findings: Findings
    lines: list[Mapped]

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
        found = list(script_lines(script))
        dropped, actions = [], []
        for line in found:
            for words in line.commands:
                verdict = self._verdict(list(words), command)
                if verdict.runs:
                    continue
                others = {other[0] for other in line.commands if other != words}
                if others - _HARMLESS and not verdict.problem:
                    verdict = Verdict(problem=_shared_line(verdict))
                self._note(command, " ".join(words), verdict)
                actions.append(verdict.action)
                dropped.append(line)
        if not dropped:
            return (PlannedCommand(command),)
        action = Action.INSTALL_KUDO if Action.INSTALL_KUDO in actions else Action.SKIP
        if len(dropped) == len(found):
            return (PlannedCommand(command, action),)
        rest = replace(command, command="", script=without_lines(script, dropped), namespaced=False)
        first = (PlannedCommand(command, action),) if action is Action.INSTALL_KUDO else ()
        return (*first, PlannedCommand(rest))

    def _note(self, command: Command, text: str, verdict: Verdict) -> None:
        shown = _shown(text)
        if verdict.problem:
            self.findings.error("CannotBeMapped", f"{shown}: {verdict.problem}", command.place)
        elif not verdict.runs:
            self.lines.append(Mapped(command.place, shown, verdict.done))

    def _verdict(self, words: list[str], command: Command) -> Verdict:
        if not words:
            return _RUNS
        program, rest = PurePath(words[0]).name, words[1:]
        if (arguments := _plugin_arguments(words)) is not None:
            return _of_plugin(arguments)
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


def _shared_line(verdict: Verdict) -> str:
    return (
        f"what is done for it ({verdict.done}) cannot be done in the midst of a line of a script; "
        "write it on a line of its own"
    )


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


def _of_plugin(arguments: list[str]) -> Verdict:
    command, rest = _command_word(arguments)
    if command != "init":
        return _RUNS
    try:
        args = _init_parser().parse(rest)
    except UsageError as error:
        return Verdict(problem=str(error))
    return _of_init(args)


def _command_word(arguments: list[str]) -> tuple[str, list[str]]:
    """Return the first word that is no flag, and all others."""
    values = {name for flag in GLOBAL_FLAGS if flag.value for name in flag.names}
    position = 0
    while position < len(arguments):
        word = arguments[position]
        if not word.startswith("-"):
            return word, arguments[:position] + arguments[position + 1 :]
        position += 2 if word in values else 1
    return "", arguments


@cache
def _init_parser() -> Parser:
    return INIT.parser()


def _of_init(args: Args) -> Verdict:
    if args.help or args.dry_run:
        return _RUNS
    if args.uninstall or args.delete_crds or args.take_over:
        return Verdict(
            problem="KUDO runs as processes here and cannot be removed or taken over; run the "
            "suite with --kubeconfig on another cluster"
        )
    if args.verify:
        return Verdict(Action.SKIP, "skipped: the harness itself waits until KUDO works")
    unused = [
        f"--{name.replace('_', '-')}"
        for name in _MEANINGLESS
        if getattr(args, name) != _init_parser().get_default(name)
    ]
    done = "the CRDs are created, and the webhook and the reconciler run as processes"
    if unused:
        done += f"; {', '.join(unused)} {'have' if len(unused) > 1 else 'has'} no meaning there"
    return Verdict(Action.INSTALL_KUDO, done)


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
