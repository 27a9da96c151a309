"""A workload in strict tenancy, where plans act as accounts, beside the same one in compat."""

from functools import partial
from typing import Final

from kubeio.resource import CLUSTER_ROLE_BINDINGS
from tests.bench.figures import Figure
from tests.bench.rounds import alternating
from tests.bench.workloads.installed import Installed
from tests.bench.workloads.reports import rates
from tests.bench.workloads.workload import Workload, measure_reconciler
from tests.support.build import Json

COMPAT: Final = "compat"
STRICT: Final = "strict"
_LEAST: Final = 0.9
_RBAC: Final = "rbac.authorization.k8s.io"


async def strict_figure(installed: Installed, workload: Workload) -> Figure:
    """Measure the reconciler in both modes in each round, with all rights for everybody."""
    await installed.client.create(CLUSTER_ROLE_BINDINGS, _everything(installed))
    found = await alternating(
        installed.options.rounds,
        {
            mode: partial(measure_reconciler, installed, workload, options=(f"--tenancy={mode}",))
            for mode in (COMPAT, STRICT)
        },
    )
    strict, compat = rates(found[STRICT]), rates(found[COMPAT])
    share = strict.over(compat)
    return Figure(
        f"{workload.name}: rate in strict over that in compat",
        f">= {_LEAST}",
        f"{share.told()}; {strict.told(1, unit='/s')} over {compat.told(1, unit='/s')}",
        share.median >= _LEAST,
        values={"share": share.values, "strict": strict.values, "compat": compat.values},
    )


def _everything(installed: Installed) -> Json:
    """Return a binding by which the reconciler may impersonate, and accounts may apply."""
    user = installed.installation.cluster.reconciler_user
    return {
        "metadata": {"name": "bench-strict"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [
            {"apiGroup": _RBAC, "kind": "User", "name": user},
            {"apiGroup": _RBAC, "kind": "Group", "name": "system:serviceaccounts"},
        ],
    }
