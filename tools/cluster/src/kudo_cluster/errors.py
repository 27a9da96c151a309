"""What can go wrong with a local cluster.

    ClusterError            every error this package raises on purpose
    +-- BuildError          a program of the control plane could not be built
    +-- StartError          a component died or did not become healthy in time
    |   +-- PortTakenError  ... because another process took its port in between
    +-- ApiError            the API server refused a request of the set-up

A message says what happened and what to do next; it is meant to be printed as it stands.
"""

from pathlib import Path


class ClusterError(Exception):
    """The root of this package's errors."""


class BuildError(ClusterError):
    """A program of the control plane could not be built."""


class StartError(ClusterError):
    """A component died while starting, or did not become healthy in time.

    Attributes:
        component: the name of the component, such as ``etcd``.
        log: where its output is, as long as the cluster's directory exists.
    """

    def __init__(self, component: str, log: Path, reason: str, tail: str) -> None:
        super().__init__(f"{component} {reason}; the end of its log {log}:\n{tail}")
        self.component = component
        self.log = log


class PortTakenError(StartError):
    """A component found its port taken; starting again with other ports helps."""


class ApiError(ClusterError):
    """The API server answered a request of the set-up with an error."""

    def __init__(self, method: str, path: str, status: int, body: str) -> None:
        super().__init__(f"{method} {path}: HTTP {status}: {body}")
        self.status = status
