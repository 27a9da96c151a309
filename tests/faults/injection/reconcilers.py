"""The reconcilers that the faults hit: real processes, each behind a listener of the proxy."""

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.errors import ClusterError
from kudo_cluster.installation import Installation, Service
from tests.support.forwarding import write_kubeconfig

CALL_TIMEOUT = 1.0
WATCH_SILENCE = 10.0
LEASE = 3.0
RECHECK = 5.0
LEASE_OPTIONS = (
    f"--lease-duration={LEASE}",
    "--lease-renew-deadline=2",
    "--lease-retry=0.5",
)
OPTIONS = (
    f"--call-timeout={CALL_TIMEOUT}",
    f"--watch-silence={WATCH_SILENCE}",
    f"--recheck={RECHECK}",
    *LEASE_OPTIONS,
    "--grace=2",
)
_LOOK_SECONDS = 0.5
_LOG_LINES = 15


@dataclass
class Reconcilers:
    """Reconcilers by name. A killed one is started again at once.

    Attributes:
        installation: KUDO, whose own reconciler does not run.
        options: Of each reconciler.
    """

    installation: Installation
    options: Sequence[str] = OPTIONS
    _services: dict[str, Service] = field(default_factory=dict)
    _dead: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    _dying: set[str] = field(default_factory=set)

    async def start(self, name: str, server: str) -> None:
        """Start a reconciler that sees the API server at this URL, and wait until it is ready."""
        service = self._services[name] = self._service(name, server)
        await asyncio.to_thread(service.start)

    async def stop(self, names: Sequence[str]) -> None:
        """End some of them, also those that are paused."""
        for name in names:
            service = self._services.pop(name)
            self._dying.discard(name)
            service.send_signal(signal.SIGCONT)
            await asyncio.to_thread(service.kill)

    def get(self, name: str, path: str) -> tuple[int, str]:
        """Read from the probe port of one; see `Service.get`."""
        return self._services[name].get(path)

    @property
    def names(self) -> list[str]:
        return list(self._services)

    async def keep(self) -> None:
        """Start again what was killed, until cancelled.

        Raises:
            ClusterError: a reconciler ended that nobody had killed.
        """
        while True:
            with contextlib.suppress(TimeoutError):
                name = await asyncio.wait_for(self._dead.get(), _LOOK_SECONDS)
                service = self._services[name]
                await asyncio.to_thread(service.kill)
                service.launch()
                self._dying.discard(name)
            for name, service in self._services.items():
                if name not in self._dying and service.process and not service.process.alive:
                    raise ClusterError(f"reconciler {name} ended by itself:\n{_end_of(service)}")

    def kill(self, name: str) -> None:
        if name not in self._dying:
            self._dying.add(name)
            self._services[name].send_signal(signal.SIGKILL)
            self._dead.put_nowait(name)

    def pause(self, name: str) -> None:
        self._services[name].send_signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        if name in self._services:
            self._services[name].send_signal(signal.SIGCONT)

    def _service(self, name: str, server: str) -> Service:
        stock = self.installation.reconciler
        directory = self.installation.directory
        kubeconfig = directory / f"{name}.kubeconfig"
        write_kubeconfig(kubeconfig, server)
        [port] = free_ports(1)
        options = [f"--kubeconfig={kubeconfig}", f"--probe-port={port}", *self.options]
        return replace(
            stock,
            name=name,
            command=[*stock.command, *options],
            log=directory / f"{name}.log",
            probe_port=port,
            process=None,
        )


def _end_of(service: Service) -> str:
    return "\n".join(service.log.read_text(encoding="utf-8").splitlines()[-_LOG_LINES:])
