"""Other plans beside the protocol floor: three phases, updates, upgrades, uninstalls.

The floor of the three phases waits for nothing: it sends the writes of the whole run at once,
whether or not the Deployment is ready.
"""

from functools import partial

from tests.bench.figures import Figure
from tests.bench.measure.requests import Request
from tests.bench.workloads.follow import ended, gone
from tests.bench.workloads.installed import Installed
from tests.bench.workloads.reports import (
    counted_figure,
    cpu_figure,
    latency_figure,
    rate_figure,
    recorded_figure,
)
from tests.bench.workloads.versions import (
    CLEANUP,
    NEXT,
    PARAMETERS,
    PHASES,
    cleanup_version,
    parameter_versions,
    phases_version,
)
from tests.bench.workloads.workload import (
    FLOOR,
    RECONCILER,
    Workload,
    compare,
    creating,
    deleting,
    patching,
)


def phases() -> Workload:
    return Workload(
        name="phases",
        count=200,
        versions=(phases_version(),),
        send=creating(PHASES),
        done=ended("deploy"),
        sent=Request("POST", "instances"),
    )


def updates() -> Workload:
    return Workload(
        name="updates",
        count=300,
        versions=parameter_versions(),
        send=patching({"parameters": {"VALUE": "second"}}),
        done=ended("update"),
        sent=Request("PATCH", "instances"),
        stands=PARAMETERS,
    )


def upgrades() -> Workload:
    return Workload(
        name="upgrades",
        count=200,
        versions=parameter_versions(),
        send=patching({"operatorVersion": {"name": NEXT}}),
        done=ended("upgrade"),
        sent=Request("PATCH", "instances"),
        stands=PARAMETERS,
    )


def uninstalls() -> Workload:
    return Workload(
        name="uninstalls",
        count=200,
        versions=(cleanup_version(),),
        send=deleting,
        done=gone,
        sent=Request("DELETE", "instances"),
        stands=CLEANUP,
    )


async def _bench(workload: Workload, what: str, installed: Installed) -> list[Figure]:
    found = await compare(installed, workload, (RECONCILER, FLOOR))
    return [
        rate_figure(workload, found, what, None),
        recorded_figure(workload, found, None),
        counted_figure(workload, found, None),
        cpu_figure(workload, found, None, FLOOR),
        latency_figure(workload, found),
    ]


BENCHES = {
    "phases": partial(_bench, phases(), "Instances of three phases on simulated nodes"),
    "updates": partial(_bench, updates(), "parameter updates"),
    "upgrades": partial(_bench, upgrades(), "upgrades"),
    "uninstalls": partial(_bench, uninstalls(), "uninstalls with a cleanup plan"),
}
