"""The plan of a run as values: where it runs, and what is done for each line of the suite file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from kudo_harness.findings import Finding, Place
from kudo_harness.suite import Command


class Where(StrEnum):
    """The cluster of a run."""

    OWN = "own"
    """The harness starts one, and ends it."""
    GIVEN = "given"
    """`--kubeconfig` or `--context` names it."""
    CURRENT = "current"
    """The current context of the kubeconfig."""


class Action(StrEnum):
    """What is done in place of a command."""

    RUN = "run"
    """It runs as it is written."""
    INSTALL_KUDO = "installKudo"
    """`RunningCluster.install_kudo` is called; no process is started."""
    SKIP = "skip"
    """Nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is done for the words of a command.

    Attributes:
        action: What is done in its place.
        replacement: The same in words; empty if the command runs.
        problem: Why it cannot be run and nothing can be done in its place; empty if all is well.
    """

    action: Action = Action.RUN
    replacement: str = ""
    problem: str = ""

    @property
    def runs(self) -> bool:
        return self.action is Action.RUN and not self.problem


KudoVerdict = Callable[[list[str]], Verdict]
"""Judges the arguments of a `kubectl kudo` command."""


@dataclass(frozen=True, slots=True)
class PlannedCommand:
    """A command, and what is done with it.

    Attributes:
        command: The command; of a script, without the lines that other commands stand for.
        action: What is done.
    """

    command: Command
    action: Action = Action.RUN


@dataclass(frozen=True, slots=True)
class Substitution:
    """What is done in place of a line of the suite file, or of a flag; the user is told.

    Such as for `startKIND: true`: a control plane of processes is started, and not a cluster of
    kind.

    Attributes:
        place: Where the line is.
        original: What it says.
        replacement: What is done instead.
    """

    place: Place
    original: str
    replacement: str

    def __str__(self) -> str:
        return f"{self.place}: {self.original}: {self.replacement}"


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A simulated node.

    Attributes:
        labels: Labels besides those that every node has.
    """

    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The flags that say where a suite runs; None where a flag is not given.

    Attributes:
        kubeconfig: `--kubeconfig`.
        context: `--context`.
        start_control_plane: `--start-control-plane`.
        start_kind: `--start-kind`.
        start_kudo: `--start-kudo`.
        kind_config: `--kind-config`, which implies `--start-kind`.
        kind_context: `--kind-context`.
        allow_faults: `--allow-faults`: steps may cause faults on a cluster of the user.
        folder: Where the harness runs; paths of a suite file are relative to it.
        environment: Variables in commands.
    """

    kubeconfig: str | None = None
    context: str | None = None
    start_control_plane: bool | None = None
    start_kind: bool | None = None
    start_kudo: bool | None = None
    kind_config: str | None = None
    kind_context: str | None = None
    allow_faults: bool = False
    folder: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done before the cases run.

    Attributes:
        where: The cluster.
        asked: The line or flag that asks for a cluster of our own; None with another cluster.
        nodes: Simulated nodes of a cluster of our own, at least one.
        substitutions: What is done in place of lines of the suite, in their order.
        commands: The commands of the suite, in order. One that is added for `startKUDO` is first.
        warnings: What was found and does not keep the suite from running.
        steps: Commands of steps and asserts for which something else is done.
    """

    where: Where
    asked: Substitution | None
    nodes: tuple[PlannedNode, ...]
    substitutions: tuple[Substitution, ...]
    commands: tuple[PlannedCommand, ...]
    warnings: tuple[Finding, ...]
    steps: Mapping[Command, tuple[PlannedCommand, ...]]

    def of_step(self, command: Command) -> tuple[PlannedCommand, ...]:
        """Return what is done for a command of a step or assert, in order."""
        return self.steps.get(command, (PlannedCommand(command),))

    @property
    def installs_kudo(self) -> bool:
        """Whether a command of the suite has KUDO installed by the harness."""
        return any(planned.action is Action.INSTALL_KUDO for planned in self.commands)

    @property
    def steps_install_kudo(self) -> bool:
        """Whether a command of a step has KUDO installed by the harness."""
        every = (command for planned in self.steps.values() for command in planned)
        return any(command.action is Action.INSTALL_KUDO for command in every)
