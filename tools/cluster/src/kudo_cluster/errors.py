"""The errors of this package.

    ClusterError            base class
    +-- BuildError          a program could not be built
    +-- StartError          a component died or did not become healthy in time
    |   +-- PortTakenError  ... because another process has taken its port
    +-- ApiError            the API server rejected a request of the setup

A message says what happened and what to do; print it as it is.
"""

from pathlib import Path


class ClusterError(Exception):
    """The base class of this package's errors."""


class BuildError(ClusterError):
    """A program of the cluster could not be built."""


class StartError(ClusterError):
    """A component died while starting, or did not become healthy in time.

    Attributes:
        component: the name of the component, such as ``etcd``.
        log: path of its log, in the cluster's directory.
    """

    def __init__(self, component: str, log: Path, reason: str, tail: str) -> None:
        super().__init__(f"{component} {reason}; the end of its log {log}:\n{tail}")
        self.component = component
        self.log = log


class PortTakenError(StartError):
    """Another process has taken the port of a component; start again with other ports."""


class ApiError(ClusterError):
    """The API server answered a request of the setup with an error."""

    def __init__(self, method: str, path: str, status: int, body: str) -> None:
        super().__init__(f"{method} {path}: HTTP {status}: {body}")
        self.status = status
