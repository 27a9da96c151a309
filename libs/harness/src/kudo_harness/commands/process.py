"""What a command of a suite runs: argv, environment, folder and time."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kudo_harness.findings import Place
from kudo_harness.suite import Command
from kudo_harness.suite.variables import expand
from kudo_harness.suite.words import NotClosed, split


class CommandInvalid(Exception):
    """A command cannot be run as it is written.

    Attributes:
        place: Where it is written.
    """

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place


@dataclass(frozen=True, slots=True)
class Context:
    """What the commands of a suite or case have in common.

    Attributes:
        namespace: Of the case; `default` for commands of the suite.
        kubeconfig: Absolute path of the kubeconfig.
        folder: Where commands run: the folder of the case; for a suite where the harness runs.
        environment: Environment of the harness.
        programs: Folders that come first in PATH, such as `bin` below where the harness runs.
        timeout: Seconds for a command that says nothing; 0 is unlimited.
    """

    namespace: str
    kubeconfig: Path
    folder: Path
    environment: Mapping[str, str]
    programs: tuple[Path, ...] = ()
    timeout: int = 0

    @property
    def variables(self) -> dict[str, str]:
        """The environment of commands, which `$VAR` refers to as well."""
        path = [str(folder) for folder in self.programs]
        if inherited := self.environment.get("PATH", ""):
            path.append(inherited)
        return {
            **self.environment,
            "NAMESPACE": self.namespace,
            "KUBECONFIG": str(self.kubeconfig),
            "PATH": ":".join(path),
        }


@dataclass(frozen=True, slots=True)
class Process:
    """A process to start.

    Attributes:
        argv: The program and its arguments.
        environment: All of its environment.
        folder: Where it runs.
        seconds: When it is stopped; None is never.
        background: Whether it runs until the end of the run.
        ignore_failure: Whether another exit code than 0 is accepted; a program that cannot be
            started, or is stopped because of its time, fails all the same.
        log_output: Whether its output is logged.
        shown: The command in a line, for logs.
        place: Where it is written.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    seconds: int | None
    background: bool
    ignore_failure: bool
    log_output: bool
    shown: str
    place: Place


def process_of(command: Command, context: Context) -> Process:
    """Return the process of a command.

    Raises:
        CommandInvalid: its words cannot be split, or nothing is left of it.
    """
    variables = context.variables
    return Process(
        argv=_script(command) if command.script else _argv(command, context, variables),
        environment=variables,
        folder=context.folder,
        seconds=_seconds(command, context),
        background=command.background,
        ignore_failure=command.ignore_failure,
        log_output=not command.skip_log_output,
        # As it is written: values of variables may be secrets.
        shown=(command.script or command.command).strip(),
        place=command.place,
    )


def _script(command: Command) -> tuple[str, ...]:
    # The shell itself replaces variables.
    return "sh", "-c", command.script


def _argv(command: Command, context: Context, variables: Mapping[str, str]) -> tuple[str, ...]:
    try:
        words = split(expand(command.command, variables))
    except NotClosed as error:
        raise CommandInvalid(f"{error}; use script for a shell", command.place) from error
    if not words:
        message = "nothing is left of the command once its variables are replaced; set them"
        raise CommandInvalid(message, command.place)
    return tuple(_in_namespace(words, context.namespace) if command.namespaced else words)


def _in_namespace(words: list[str], namespace: str) -> list[str]:
    """Add `--namespace` unless it is there; before `--`, since what follows is for others."""
    end = words.index("--") if "--" in words else len(words)
    own = words[:end]
    if any(_names_namespace(word) for word in own):
        return words
    return [*own, "--namespace", namespace, *words[end:]]


def _names_namespace(word: str) -> bool:
    if word.startswith("--"):
        return word == "--namespace" or word.startswith("--namespace=")
    return word.startswith("-n")


def _seconds(command: Command, context: Context) -> int | None:
    if command.background or command.timeout < 0:
        return None
    return command.timeout or context.timeout or None
