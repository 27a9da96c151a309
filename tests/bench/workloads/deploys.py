"""500 Instances of one ConfigMap, with the webhook on, beside the protocol floor."""

from typing import Final

from tests.bench.figures import Figure
from tests.bench.measure.requests import Request
from tests.bench.workloads.follow import ended
from tests.bench.workloads.installed import Installed
from tests.bench.workloads.reports import (
    counted_figure,
    cpu_figure,
    latency_figure,
    others_figure,
    plain_rate_figure,
    rate_figure,
    recorded_figure,
)
from tests.bench.workloads.strict import strict_figure
from tests.bench.workloads.versions import CONFIG_MAP, config_map_version
from tests.bench.workloads.workload import Workload, compare, creating
from tests.support.build import Json

_MIN_SHARE: Final = 0.75
_MAX_CPU: Final = 3.0
_MAX_READS: Final = 1
_MAX_WRITES: Final = 5
_MAX_EVENTS: Final = 2


def deploys(count: int, *others: Json) -> Workload:
    """Return the workload; `others` are OperatorVersions that there are as well."""
    return Workload(
        name="deploys",
        count=count,
        versions=(config_map_version(), *others),
        send=creating(CONFIG_MAP),
        done=ended("deploy"),
        sent=Request("POST", "instances"),
    )


async def bench(installed: Installed) -> list[Figure]:
    """Measure the reconciler and both clients of the floor in each round."""
    workload = deploys(500)
    found = await compare(installed, workload)
    most = (_MAX_READS, _MAX_WRITES, _MAX_EVENTS)
    return [
        rate_figure(workload, found, "Instances of one ConfigMap", _MIN_SHARE),
        plain_rate_figure(workload, found),
        recorded_figure(workload, found, most),
        counted_figure(workload, found, (sum(most), _MAX_READS)),
        cpu_figure(workload, found, _MAX_CPU),
        latency_figure(workload, found),
        others_figure(workload, found),
        await strict_figure(installed, workload),
    ]
