"""A running cluster, with KUDO on it once asked for, and the requests to both."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kudo_cluster.cluster import Cluster
from kudo_cluster.control_plane import kubeconfig
from kudo_cluster.errors import ClusterError
from kudo_cluster.installation import Installation, Service
from kudo_cluster.progress import Progress
from kudo_cluster.run.lines import BadRequest, Request

LOG_BYTES = 64 * 1024
"""Bytes of the end of each log."""
_Answer = dict[str, Any]


@dataclass(slots=True)
class Session:
    """A cluster that ends with this process.

    Attributes:
        cluster: The cluster.
        progress: Receives a line for each step.
        installation: KUDO, once it is installed.
    """

    cluster: Cluster
    progress: Progress
    installation: Installation | None = field(default=None, init=False)

    def ready(self) -> _Answer:
        """Return what a client has to know about the cluster."""
        cluster = self.cluster
        return {
            "ready": {
                "server": cluster.server,
                "kubeconfigs": {role: str(cluster.kubeconfig(role)) for role in kubeconfig.ROLES},
                "programs": [str(cluster.binary("kubectl").parent)],
                "directory": str(cluster.directory),
            }
        }

    def answer(self, request: Request) -> _Answer:
        """Do what a request asks for.

        Raises:
            BadRequest: There is no such request, or its value is not as it has to be.
            ClusterError: It failed.
        """
        requests: dict[str, Callable[[Any], _Answer]] = {
            "install": self._install,
            "restart": self._restart,
            "node": self._node,
            "logs": self._logs,
        }
        [(name, value)] = request.items()
        if name not in requests:
            raise BadRequest(f"no request {name[:40]!r}; there are {', '.join(requests)}, keep")
        return requests[name](value)

    def stop(self) -> None:
        """End KUDO and the cluster."""
        with contextlib.ExitStack() as ending:
            ending.callback(self.cluster.stop)
            if self.installation is not None:
                ending.callback(self.installation.stop)

    def _install(self, value: object) -> _Answer:
        crds = _text(_mapping(value, "crds"), "crds")
        if not Path(crds).exists():
            raise BadRequest(f"no file of CRDs: {crds}")
        if self.installation is None:
            self.installation = Installation.start(
                self.cluster, crds=Path(crds), progress=self.progress
            )
        return {"done": "install"}

    def _restart(self, value: object) -> _Answer:
        service = self._service(value)
        service.kill()
        service.start()
        return {"done": "restart"}

    def _service(self, name: object) -> Service:
        if name not in ("webhook", "reconciler"):
            raise BadRequest("restart is webhook or reconciler")
        if self.installation is None:
            raise ClusterError(f"the {name} cannot be restarted: KUDO is not installed")
        return self.installation.webhook if name == "webhook" else self.installation.reconciler

    def _node(self, value: object) -> _Answer:
        fields = _mapping(value, "name", "ready")
        name, ready = _text(fields, "name"), fields["ready"]
        if not isinstance(ready, bool):
            raise BadRequest("ready is true or false")
        self.cluster.set_node_ready(name, ready=ready)
        return {"done": "node"}

    def _logs(self, value: object) -> _Answer:
        _mapping(value)
        return {"logs": {path.stem: _end_of(path) for path in self._log_files()}}

    def _log_files(self) -> list[Path]:
        folders = [self.cluster.directory / "logs"]
        if self.installation is not None:
            folders.append(self.installation.directory)
        return sorted(path for folder in folders for path in folder.glob("*.log"))


def _mapping(value: object, *names: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or set(value) != set(names):
        raise BadRequest(f"the value has the fields {', '.join(names) or '(none)'}")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str) or not value:
        raise BadRequest(f"{name} is text")
    return value


def _end_of(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - LOG_BYTES))
        return file.read(LOG_BYTES).decode(errors="replace")
