"""What a command of a suite, or of a collector, runs: argv, environment, folder and time."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kudo_harness.findings import Place
from kudo_harness.suite import Collector, CollectorType, Command
from kudo_harness.suite.words import NotClosed, expand, split


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
    if command.script:
        # The shell itself replaces variables.
        argv = ["sh", "-c", command.script]
    else:
        try:
            argv = split(expand(command.command, variables))
        except NotClosed as error:
            raise CommandInvalid(f"{error}; use script for a shell", command.place) from error
        if not argv:
            message = "nothing is left of the command once its variables are replaced; set them"
            raise CommandInvalid(message, command.place)
        if command.namespaced:
            argv = _in_namespace(argv, context.namespace)
    unlimited = command.background or command.timeout < 0
    return Process(
        argv=tuple(argv),
        environment=variables,
        folder=context.folder,
        seconds=None if unlimited else command.timeout or context.timeout or None,
        background=command.background,
        ignore_failure=command.ignore_failure,
        log_output=not command.skip_log_output,
        # As it is written: values of variables may be secrets.
        shown=(command.script or command.command).strip(),
        place=command.place,
    )


def _in_namespace(words: list[str], namespace: str) -> list[str]:
    """Add `--namespace` unless it is there; before `--`, since what follows is for others."""
    end = words.index("--") if "--" in words else len(words)
    for word in words[:end]:
        # `-nNAME` names one as well, but `--no-headers` begins with two dashes.
        short = word.startswith("-n") and not word.startswith("--")
        if short or word == "--namespace" or word.startswith("--namespace="):
            return words
    return [*words[:end], "--namespace", namespace, *words[end:]]


_SELECTED: Final = 10
"""Lines of each log, where pods are selected by label."""
_ALL: Final = -1
_SECONDS: Final = 30
"""Logs may be followed by mistake; a collector must not hold the run."""


def collecting_command(collector: Collector, namespace: str) -> Command:
    """Return the command of a collector; its failure fails nothing.

    Args:
        collector: The collector.
        namespace: That of the case, unless the collector has its own.
    """
    where = ["-n", collector.namespace or namespace]
    match collector.type:
        case CollectorType.COMMAND:
            text = collector.command
        case CollectorType.EVENTS:
            of_pod = f"involvedObject.name={collector.pod}"
            chosen = ["--field-selector", of_pod] if collector.pod else []
            text = _joined("kubectl", "get", "events", *chosen, *where)
        case CollectorType.POD:
            pods = ["-l", collector.selector] if collector.selector else [collector.pod]
            container = ["-c", collector.container] if collector.container else ["--all-containers"]
            tail = collector.tail
            if tail is None:
                tail = _SELECTED if collector.selector else _ALL
            text = _joined(
                "kubectl", "logs", "--prefix", *pods, *where, *container, f"--tail={tail}"
            )
    return Command(command=text, ignore_failure=True, timeout=_SECONDS, place=collector.place)


def _joined(*words: str) -> str:
    """Return words as `words.split` reads them; variables in them are still replaced."""
    return " ".join(
        word
        if word and not set(word) & set(" \t\r\n\"'\\#")
        else '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
        for word in words
    )
