"""The tasks and plans in `operator.yaml`, with the fields of the API models and without pydantic.

The API models take 0.2 s of CPU to import, and checking a package needs none of them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PackageMaintainer:
    name: str | None = None
    email: str | None = None


@dataclass(frozen=True, slots=True)
class PackagePipeFile:
    """One file that a Pipe task hands on."""

    file: str | None = None
    env_file: str | None = None
    kind: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class PackageTaskSpec:
    """The union of the fields of all kinds of task."""

    resources: tuple[str, ...] | None = None
    parameter: str | None = None
    pod: str | None = None
    pipe: tuple[PackagePipeFile, ...] | None = None
    package: str | None = None
    instance_name: str | None = None
    app_version: str | None = None
    operator_version: str | None = None
    parameter_file: str | None = None
    wait: bool | None = None
    want_err: bool | None = None
    fatal: bool | None = None
    done: bool | None = None


@dataclass(frozen=True, slots=True)
class PackageTask:
    name: str = ""
    kind: str = ""
    spec: PackageTaskSpec = PackageTaskSpec()


@dataclass(frozen=True, slots=True)
class PackageStep:
    name: str = ""
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PackagePhase:
    name: str = ""
    strategy: str = ""
    steps: tuple[PackageStep, ...] = ()


@dataclass(frozen=True, slots=True)
class PackagePlan:
    strategy: str = ""
    phases: tuple[PackagePhase, ...] | None = None
