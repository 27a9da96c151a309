"""What functions read of tasks, plans and parameters, for type checkers.

The API models have it, and so have the dataclasses of `kudo.packages`, which need no pydantic.
"""

from collections.abc import Sequence
from typing import Protocol


class PipeFileFields(Protocol):
    """A file of a Pipe task."""

    @property
    def file(self) -> str | None: ...
    @property
    def env_file(self) -> str | None: ...
    @property
    def kind(self) -> str | None: ...
    @property
    def key(self) -> str | None: ...


class TaskSpecFields(Protocol):
    """The fields of all kinds of task."""

    @property
    def resources(self) -> Sequence[str] | None: ...
    @property
    def parameter(self) -> str | None: ...
    @property
    def pod(self) -> str | None: ...
    @property
    def pipe(self) -> Sequence[PipeFileFields] | None: ...
    @property
    def package(self) -> str | None: ...
    @property
    def operator_version(self) -> str | None: ...
    @property
    def app_version(self) -> str | None: ...


class TaskFields(Protocol):
    """A task."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def spec(self) -> TaskSpecFields: ...


class StepFields(Protocol):
    """A step of a phase."""

    @property
    def name(self) -> str: ...
    @property
    def tasks(self) -> Sequence[str]: ...


class PhaseFields(Protocol):
    """A phase of a plan."""

    @property
    def name(self) -> str: ...
    @property
    def strategy(self) -> str: ...
    @property
    def steps(self) -> Sequence[StepFields]: ...


class PlanFields(Protocol):
    """A plan."""

    @property
    def strategy(self) -> str: ...
    @property
    def phases(self) -> Sequence[PhaseFields] | None: ...


class ParameterFields(Protocol):
    """A parameter."""

    @property
    def name(self) -> str: ...
    @property
    def value_type(self) -> str | None: ...
    @property
    def default(self) -> str | None: ...
    @property
    def required(self) -> bool | None: ...
    @property
    def enum(self) -> Sequence[str] | None: ...
