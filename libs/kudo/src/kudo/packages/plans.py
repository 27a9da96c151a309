"""The tasks and plans in `operator.yaml`, with the fields of the API models and without pydantic.

The API models take 0.2 s of CPU to import, and checking a package needs none of them.
These are named tuples, since dataclasses take several times as long to define. Time limits are
texts as they are written, empty where there are none.
"""

from typing import NamedTuple


class PackageMaintainer(NamedTuple):
    """Who maintains a package."""

    name: str | None = None
    email: str | None = None


class PackagePipeFile(NamedTuple):
    """One file that a Pipe task hands on."""

    file: str | None = None
    env_file: str | None = None
    kind: str | None = None
    key: str | None = None


class PackageTaskSpec(NamedTuple):
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


class PackageTask(NamedTuple):
    """What steps refer to."""

    name: str = ""
    kind: str = ""
    spec: PackageTaskSpec = PackageTaskSpec()
    timeout: str = ""
    progress_deadline: str = ""


class PackageStep(NamedTuple):
    """Tasks that run one after the other."""

    name: str = ""
    tasks: tuple[str, ...] = ()
    timeout: str = ""


class PackagePhase(NamedTuple):
    """Steps of a plan."""

    name: str = ""
    strategy: str = ""
    steps: tuple[PackageStep, ...] = ()
    timeout: str = ""


class PackagePlan(NamedTuple):
    """Phases under a name."""

    strategy: str = ""
    phases: tuple[PackagePhase, ...] | None = None
    timeout: str = ""
