"""What functions read of plans and parameters, for type checkers.

The API models have it, and so have the dataclasses of `kudo.packages`, which need no pydantic.
"""

from collections.abc import Sequence
from typing import Protocol


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
