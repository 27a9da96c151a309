"""The state file of a running cluster, for ``status``, ``down`` and ``attach`` in other processes.

It is written atomically (renamed into place). It does not prove that the cluster runs: each process
in it is checked by its identity.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from kudo_cluster.errors import ClusterError
from kudo_cluster.processes.process import Process

_FILE = "cluster.json"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Running:
    """A component that was started."""

    name: str
    port: int
    health: str
    process: Process


@dataclass(frozen=True, slots=True)
class State:
    """A cluster that was started: its processes and the paths of its programs.

    Attributes:
        sandbox: the first process in the namespaces of a real node; when it ends, everything on the
            node does. None if the nodes are simulated.
    """

    name: str
    server: str
    supervisor: Process
    components: tuple[Running, ...]
    binaries: dict[str, str]
    sandbox: Process | None = None

    @property
    def processes(self) -> tuple[Process, ...]:
        """Every process, the supervisor first."""
        sandbox = () if self.sandbox is None else (self.sandbox,)
        return (self.supervisor, *(component.process for component in self.components), *sandbox)

    @property
    def profile(self) -> str:
        """`node` with a real node, else `control-plane`."""
        return "control-plane" if self.sandbox is None else "node"

    @property
    def alive(self) -> bool:
        """Whether all processes still run."""
        return all(process.alive for process in self.processes)

    def write(self, directory: Path) -> None:
        """Write the state file into the cluster's directory."""
        new = directory / f".{_FILE}.new"
        new.write_text(json.dumps({"version": _VERSION, **asdict(self)}, indent=2), "utf-8")
        # A reader finds the whole file or none.
        new.rename(directory / _FILE)


def read(directory: Path) -> State | None:
    """Read the state file, None without one; raises ClusterError if it cannot be read."""
    path = directory / _FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ClusterError(f"{path} is damaged: {error}") from error
    # Its processes cannot be named then, so nothing of that cluster is touched.
    if not isinstance(document, dict) or document.get("version") != _VERSION:
        raise ClusterError(f"{path} was written by another version of kudo-cluster; remove it")
    try:
        return State(
            name=document["name"],
            server=document["server"],
            supervisor=Process(**document["supervisor"]),
            components=tuple(
                Running(**{**component, "process": Process(**component["process"])})
                for component in document["components"]
            ),
            binaries=dict(document["binaries"]),
            sandbox=Process(**sandbox) if (sandbox := document.get("sandbox")) else None,
        )
    except (KeyError, TypeError) as error:
        raise ClusterError(f"{path} is damaged: {error!r}") from error


def default_directory(name: str) -> Path:
    """Return the default directory of a cluster: $XDG_STATE_HOME/kudo/clusters/NAME."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "kudo" / "clusters" / name
