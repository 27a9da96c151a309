"""KUDO on a local cluster: CRDs, webhook and reconciler as processes, webhook configurations.

Webhook and reconciler run on this machine, each with its own user of the cluster. They end with the
process that started them, unless they were detached. Both webhook configurations are created after
the webhook is ready: before, they would make the API server reject all writes of Instances.
"""

import base64
import http.client
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from types import TracebackType
from typing import Protocol, Self

from kudo_cluster.control_plane.api import kubectl
from kudo_cluster.control_plane.identities import Role, write_private
from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.errors import ClusterError
from kudo_cluster.processes.process import Process, Supervision, wait_until_gone
from kudo_cluster.progress import Progress, silent
from kudo_cluster.tenancy import ENVIRONMENT, Tenancy, allow_tenant, give_rights

_WEBHOOKS = Path(__file__).with_name("webhooks.yaml")
# Registered in strict mode, too: that of OperatorVersions.
_STRICT_WEBHOOKS = Path(__file__).with_name("webhooks-strict.yaml")
# Who may write Inventories. It stays when the webhooks are taken away.
_POLICY = Path(__file__).with_name("inventories-policy.yaml")
# The RBAC rules of the chart allow the Lease of the reconciler in this namespace only.
_LEASE_NAMESPACE = "kudo-system"
LOOPBACK = "127.0.0.1"
_SERVER_SIDE = ("--server-side", "--force-conflicts")
_DIGEST_KEY_BYTES = 32
_READY_SECONDS = 60.0
_STOP_SECONDS = 30.0
_POLL = 0.05
_LOG_LINES = 15


class Host(Protocol):
    """A cluster to install KUDO on: a `Cluster`, or that of the current context."""

    @property
    def directory(self) -> Path:
        """Directory for files of the installation."""

    @property
    def reconciler_user(self) -> str:
        """User name of the reconciler."""

    def kubeconfig(self, role: Role) -> Path:
        """Return the kubeconfig of a role."""

    def binary(self, name: str) -> Path:
        """Return the path of a program, such as kubectl."""

    def serving_certificate(self, directory: Path, *hosts: str) -> tuple[Path, Path, bytes]:
        """Issue a certificate; return its path, the path of its key, and the CA as PEM."""


class Starter(Protocol):
    """Starts services: a `Supervision`, or another that ends its processes with the tests."""

    def start(self, command: list[str], log: Path, environment: dict[str, str]) -> Process:
        """Start a program without waiting; raises ClusterError if it cannot be started."""


@dataclass
class Service:
    """The webhook or the reconciler as a process that can be stopped, killed and restarted.

    Attributes:
        name: `webhook` or `reconciler`.
        command: Program and arguments; the ports stay the same over restarts.
        log: File to which its output is appended.
        probe_port: Port of /readyz and /metrics.
        environment: More environment variables than those of this process.
    """

    name: str
    command: list[str]
    log: Path
    probe_port: int
    supervision: Starter
    process: Process | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        """Start it and wait until it is ready.

        Raises:
            ClusterError: it ended, or did not become ready in time; with the end of its log.
        """
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start it without waiting."""
        if self.process is not None and self.process.alive:
            return
        self.process = self.supervision.start(
            self.command, self.log, {**os.environ, **self.environment}
        )

    def wait_ready(self) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not self._ready():
            if self.process is None or not self.process.alive:
                raise ClusterError(f"the {self.name} ended:\n{self._log_end()}")
            if time.monotonic() > deadline:
                raise ClusterError(f"the {self.name} does not become ready:\n{self._log_end()}")
            time.sleep(_POLL)

    def stop(self) -> None:
        """End it with SIGTERM, as Kubernetes does, and wait for that."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it with SIGKILL, as a crash does."""
        self._end(signal.SIGKILL)

    def send_signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.signal(number)

    def get(self, path: str) -> tuple[int, str]:
        """GET a path of its probe port, such as /metrics; the status is 0 without an answer."""
        connection = http.client.HTTPConnection(LOOPBACK, self.probe_port, timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def _ready(self) -> bool:
        return self.get("/readyz")[0] == http.HTTPStatus.OK

    def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.signal(number)
        if wait_until_gone([self.process], _STOP_SECONDS):
            self.process.signal(signal.SIGKILL)
            raise ClusterError(f"the {self.name} did not end:\n{self._log_end()}")

    def _log_end(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:]) or "(its log is empty)"


@dataclass
class Installation:
    """KUDO on one cluster."""

    cluster: Host
    directory: Path
    webhook: Service
    reconciler: Service
    configurations: str
    strict_configurations: str
    policy: str
    supervision: Supervision = field(repr=False)
    tenancy: Tenancy = "compat"

    @classmethod
    def start(
        cls,
        cluster: Host,
        *,
        crds: Path | None,
        options: Mapping[str, list[str]] | None = None,
        address: str = LOOPBACK,
        tenancy: Tenancy = "compat",
        constrained: bool = True,
        progress: Progress = silent,
    ) -> Self:
        """Install the CRDs, start both services and register the webhook.

        Args:
            cluster: The running cluster.
            crds: Directory or file of the CRDs; None if they are installed already.
            options: Additional options of each service, by its name.
            address: The address of this machine at which the API server calls the webhook.
            tenancy: The mode of both services. `strict` needs a local cluster.
            constrained: Whether the API server has constrained impersonation; for strict mode.
            progress: Receives a line for each step.

        Raises:
            ClusterError: a step failed; the message says which and why.
        """
        directory = cluster.directory / "kudo"
        directory.mkdir(exist_ok=True)
        if crds is not None:
            progress("creating the CRDs")
            # A suite of tests may have created them from its own copy.
            kubectl(cluster, "apply", "--server-side", "--force-conflicts", "-f", str(crds))
            established = ("--for=condition=Established", "--timeout=60s")
            kubectl(cluster, "wait", *established, "-f", str(crds))
        installation = cls._prepare(cluster, directory, options or {}, address)
        if tenancy == "strict":
            installation.set_tenancy(tenancy, constrained=constrained)
        try:
            installation.launch(progress)
        except BaseException:
            installation.stop()
            raise
        return installation

    def launch(self, progress: Progress) -> None:
        """Start both services, and register the webhook once it is ready."""
        kubectl(self.cluster, "apply", *_SERVER_SIDE, "-f", "-", text=self.policy)
        progress("starting the webhook and the reconciler")
        self.webhook.launch()
        self.reconciler.launch()
        self.webhook.wait_ready()
        self.register_webhook()
        self.reconciler.wait_ready()

    @classmethod
    def _prepare(
        cls, cluster: Host, directory: Path, options: Mapping[str, list[str]], address: str
    ) -> Self:
        supervision = Supervision(directory / "supervisor.log", remove=None)
        port, webhook_probes, reconciler_probes = free_ports(3)
        certificate, key, ca = cluster.serving_certificate(directory, address)
        values = {
            "URL": f"https://{_authority(address, port)}",
            "CA_BUNDLE": base64.b64encode(ca).decode(),
            "RECONCILER": cluster.reconciler_user,
        }
        serving = [f"--host={address}", f"--port={port}", "--drain-seconds=0"]
        serving += [f"--tls-cert={certificate}", f"--tls-key={key}"]
        reconciling = [f"--lease-namespace={_LEASE_NAMESPACE}", _digest_key_option(directory)]

        def service(name: Role, probe_port: int, arguments: list[str]) -> Service:
            command = [str(_program(f"kudo-{name}"))]
            command += [f"--kubeconfig={cluster.kubeconfig(name)}", f"--probe-host={LOOPBACK}"]
            command += [f"--probe-port={probe_port}", *arguments, *options.get(name, [])]
            return Service(name, command, directory / f"{name}.log", probe_port, supervision)

        return cls(
            cluster,
            directory,
            service("webhook", webhook_probes, serving),
            service("reconciler", reconciler_probes, reconciling),
            _filled_in(_WEBHOOKS, values),
            _filled_in(_STRICT_WEBHOOKS, values) if _STRICT_WEBHOOKS.exists() else "",
            _filled_in(_POLICY, values),
            supervision,
        )

    def set_tenancy(self, tenancy: Tenancy, *, constrained: bool = True) -> None:
        """Set the mode that both services start with, and give them its rights.

        Services that run keep their mode until they are started again; then `register_webhook`.

        Raises:
            ClusterError: the API server refuses the rights.
        """
        give_rights(self.cluster, tenancy, constrained=constrained)
        self.tenancy = tenancy
        if tenancy == "compat" and self.strict_configurations:
            delete = ("delete", "--ignore-not-found", "-f", "-")
            kubectl(self.cluster, *delete, text=self.strict_configurations)
        for service in (self.webhook, self.reconciler):
            service.environment[ENVIRONMENT[service.name]] = tenancy

    def allow_tenant(self, namespace: str) -> None:
        """Let the reconciler act as the accounts of a namespace; raises ClusterError."""
        allow_tenant(self.cluster, namespace)

    def register_webhook(self) -> None:
        """Create or restore the webhook configurations of the mode."""
        apply = ("apply", "--server-side", "--force-conflicts", "-f", "-")
        kubectl(self.cluster, *apply, text=self.configurations)
        if self.tenancy == "strict" and self.strict_configurations:
            kubectl(self.cluster, *apply, text=self.strict_configurations)

    def unregister_webhook(self) -> None:
        """Delete all webhook configurations."""
        for text in filter(None, (self.configurations, self.strict_configurations)):
            kubectl(self.cluster, "delete", "--ignore-not-found", "-f", "-", text=text)

    def remove_policy(self) -> None:
        """Delete the policy of Inventories, for a cluster that outlives the installation."""
        kubectl(self.cluster, "delete", "--ignore-not-found", "-f", "-", text=self.policy)

    def another_reconciler(self, name: str, *options: str) -> Service:
        """Return another reconciler, not started yet; it ends with the others.

        Args:
            name: Its name in errors, and of its log in the directory of the installation.
            options: Override those of the first one.
        """
        [probe_port] = free_ports(1)
        command = [*self.reconciler.command, f"--probe-port={probe_port}", *options]
        log = self.directory / f"{name}.log"
        return Service(
            name, command, log, probe_port, self.reconciler.supervision,
            environment=dict(self.reconciler.environment),
        )  # fmt: skip

    def detach(self) -> None:
        """Let both services outlive this process."""
        self.supervision.detach()

    def stop(self) -> None:
        """End both services."""
        self.supervision.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def _filled_in(file: Path, values: Mapping[str, str]) -> str:
    return Template(file.read_text(encoding="utf-8")).substitute(values)


def _digest_key_option(directory: Path) -> str:
    """Return the option with the key for digests of Secrets, which is made once."""
    path = directory / "digest-key"
    if not path.exists():
        write_private(path, os.urandom(_DIGEST_KEY_BYTES))
    return f"--digest-key-file={path}"


def _authority(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _program(name: str) -> Path:
    """Return the path of a console script of the running Python environment."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        raise ClusterError(f"{path} is missing; run `make setup`")
    return path
