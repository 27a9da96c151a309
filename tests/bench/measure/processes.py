"""CPU time and memory of the processes of an installation, from /proc."""

from collections.abc import Mapping
from typing import Final

from kudo_cluster.installation import Service
from kudo_cluster.state import State
from tests.bench.rounds import cpu_seconds

API: Final = "API server and etcd"
_API_COMPONENTS: Final = ("etcd", "kube-apiserver")

Cpu = Mapping[str, float]
"""CPU seconds by process; those of worker processes count with their service."""


def cpu_of(cluster: State, *services: Service) -> Cpu:
    """Return what each process has used since it started; services that do not run are left out."""
    api = [one.process.pid for one in cluster.components if one.name in _API_COMPONENTS]
    running = {one.name: pid_of(one) for one in services if one.process and one.process.alive}
    return {API: sum(map(cpu_seconds, api)), **{n: cpu_seconds(p) for n, p in running.items()}}


def cpu_between(before: Cpu, after: Cpu) -> Cpu:
    """Return what was used from one reading to a later one by processes that are in both."""
    return {name: used - before[name] for name, used in after.items() if name in before}


def pid_of(service: Service) -> int:
    assert service.process is not None
    return service.process.pid
