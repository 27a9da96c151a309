"""What becomes of a workload in memory, by the annotations that simulated nodes read."""

import re
from typing import Final

from kubeio.types import JsonObject
from kudo.api.names import LABEL_JOB_OF
from tests.support.apiserver.controllers.workloads import Outcome, State

_PREFIX: Final = "kwok.kudo.dev"
_NEVER_PULLS: Final = "never-pulls"
_ENDING: Final = frozenset({"Job", "Pod"})
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SECONDS: Final = 0.1
"""That a workload takes which says nothing of it."""


def outcome(obj: JsonObject) -> Outcome:
    """Return what becomes of a workload; see tools/cluster/src/kudo_cluster/node/stages.yaml."""
    spec = obj.get("spec") or {}
    pod = obj if obj["kind"] == "Pod" else spec.get("template") or {}
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    containers = (pod.get("spec") or {}).get("containers") or []
    if any(_NEVER_PULLS in one.get("image", "") for one in containers):
        return Outcome("stuck")
    ends = annotations.get(f"{_PREFIX}/exit-code", "0")
    delay = annotations.get(f"{_PREFIX}/ready-delay") or annotations.get(f"{_PREFIX}/run-for")
    seconds = _seconds(delay) if delay else 0.0
    state: State = (
        "healthy" if ends == "0" else ("failed" if obj["kind"] in {"Job", "Pod"} else "stuck")
    )
    return Outcome(state, max(seconds, _SECONDS))


def is_of_job_task(job: JsonObject) -> bool:
    """Return whether a Job is that of a Job task, of which pods are looked at."""
    return LABEL_JOB_OF in (job["metadata"].get("labels") or {})


def _seconds(duration: str) -> float:
    """Return the seconds of a duration of Go."""
    parts = re.findall(r"([0-9.]+)(ms|[smh])", duration)
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
