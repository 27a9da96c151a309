"""Whether the faults of a suite can be caused where it runs; decided before anything runs."""

from collections.abc import Iterator

from kubectl_kudo.testing.local.planned import Plan, Where
from kudo_harness.findings import Findings
from kudo_harness.suite import Fault, NodeNotReady, RestartService, Suite


def check_faults(suite: Suite, plan: Plan, findings: Findings, *, allowed: bool) -> None:
    """Note an error for each fault that cannot be caused.

    Args:
        suite: The suite.
        plan: Where it runs.
        findings: Where errors are noted.
        allowed: Whether steps may cause faults on a cluster that the harness did not start.
    """
    for fault in _faults(suite):
        problem = _of_own_cluster(fault, plan) if _own(plan) else _of_other_cluster(fault, allowed)
        if problem:
            findings.error("FaultNotAllowed", problem, fault.place)


def _own(plan: Plan) -> bool:
    return plan.where is Where.OWN


def _faults(suite: Suite) -> Iterator[Fault]:
    for folder in suite.test_dirs:
        for case in folder.cases:
            for step in case.steps:
                yield from step.options.faults if step.options else ()


def _of_own_cluster(fault: Fault, plan: Plan) -> str:
    match fault.action:
        case NodeNotReady(name=name):
            names = [f"node-{n}" for n in range(1, len(plan.nodes) + 1)]
            return "" if name in names else f"no node {name}; there are {', '.join(names)}"
        case RestartService(service=service):
            if not (plan.installs_kudo or plan.steps_install_kudo):
                return (
                    f"the {service} does not run: no line of the suite installs KUDO; add "
                    "startKUDO: true to the suite file"
                )
    return ""


def _of_other_cluster(fault: Fault, allowed: bool) -> str:
    match fault.action:
        case NodeNotReady():
            return "only the simulated nodes of a cluster that the harness starts can be unready"
    if allowed:
        return ""
    return (
        "faults are caused only on a cluster that the harness starts: add startControlPlane: true "
        "to the suite file, or allow them on this cluster with --allow-faults"
    )
