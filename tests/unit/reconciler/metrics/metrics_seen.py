"""Metrics of the reconciler that have seen everything, and the values that labels may take."""

from datetime import UTC, datetime

from kubeio.cache.informer import Informer
from kubeio.cache.reflector import Phase, Status
from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kubeio.connection.round_tripper import Ending, RequestSeen
from kubeio.errors import ConnectionLost, Forbidden, Gone
from kubeio.resource import Resource
from kudo.api import ExecutionStatus, PlanStatus
from kudo_reconciler.common.keys import INSTANCES, READINESS_KINDS
from kudo_reconciler.metrics import labels as words
from kudo_reconciler.metrics.metrics import Metrics

HOSTILE = 'tenant"s\n{choice}'
TENANTS_KIND = Resource("deployments.example.dev", "v1", HOSTILE, "deployments", namespaced=True)

ALLOWED: dict[str, dict[str, tuple[str, ...]]] = {
    "kudo_reconcile": {"outcome": words.RECONCILE_OUTCOMES},
    "kudo_objects_applied": {"outcome": words.APPLY_OUTCOMES},
    "kudo_plan_runs_started": {"plan": words.PLANS},
    "kudo_plan_runs_finished": {
        "plan": words.PLANS,
        "status": words.RUN_STATUSES,
        "reason": words.RUN_REASONS,
    },
    "kudo_plan_run_duration_seconds": {"plan": words.PLANS, "status": words.RUN_STATUSES},
    "kudo_step_duration_seconds": {"status": words.RUN_STATUSES},
    "kudo_plan_runs_in_progress": {"plan": words.PLANS},
    "kudo_plan_run_oldest_start_timestamp_seconds": {"plan": words.PLANS},
    "kudo_instances": {"state": words.INSTANCE_STATES},
    "kudo_api_requests": {
        "verb": words.API_VERBS,
        "code": words.API_CODES,
        "outcome": words.API_OUTCOMES,
    },
    "kudo_api_request_duration_seconds": {"verb": words.API_VERBS},
    "kudo_watch_restarts": {"reason": words.WATCH_ENDINGS},
    "kudo_watches": {"resource": words.WATCHED_RESOURCES},
    "kudo_watch_last_contact_timestamp_seconds": {"resource": words.WATCHED_RESOURCES},
}


def exercised() -> Metrics:
    """Return metrics that have seen everything, also what nobody should be able to send."""
    metrics = Metrics()
    client = Client(ClusterConfig(server="http://127.0.0.1:1"))
    kinds = (INSTANCES, TENANTS_KIND, *READINESS_KINDS)
    metrics.add_watches(lambda: [Informer(client, kind) for kind in kinds])
    plans = (*words.PLANS, HOSTILE)
    metrics.add_instances(lambda: [_instance(plan) for plan in plans], lambda: datetime.now(UTC))
    for status in ExecutionStatus.COMPLETE, ExecutionStatus.FATAL_ERROR:
        metrics.step_ended(status, 1.0)
        for plan in (*words.PLANS, HOSTILE):
            for reason in (*words.RUN_REASONS, HOSTILE):
                metrics.run_finished(ended(plan, status), reason)
    for plan in ("deploy", HOSTILE):
        metrics.run_started(plan)
        metrics.run_superseded(plan)
        metrics.run_stopped(plan)
    for outcome in (*words.RECONCILE_OUTCOMES, HOSTILE):
        metrics.reconcile_ended(outcome, 0.1)
    endings: tuple[Ending, ...] = ("timeout", "lost", "cancelled")
    for verb in (*words.API_VERBS, HOSTILE):
        for code in (200, 201, 404, 409, 500, 299, 999):
            metrics.request_seen(RequestSeen(verb, code, 0.1, "answered"))
        for ending in endings:
            metrics.request_seen(RequestSeen(verb, 0, 0.1, ending))
    for error in (None, Gone("", status=410), Forbidden("", status=403), ConnectionLost("")):
        metrics.watches.seen(TENANTS_KIND, Status(Phase.WATCHING))
        metrics.watches.seen(TENANTS_KIND, Status(Phase.WAITING, error))
    metrics.queue.added()
    metrics.queue.retried()
    metrics.queue.waited(0.1)
    metrics.leading(True)
    metrics.render_seconds.observe(0.1)
    return metrics


def ended(plan: str, status: ExecutionStatus) -> PlanStatus:
    """Return the entry of a run that took a minute."""
    moments = {"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:01:00Z"}
    return PlanStatus(name=plan, status=str(status), uid="u", **moments)


def _instance(plan: str) -> dict[str, object]:
    return {
        "metadata": {"name": HOSTILE, "namespace": HOSTILE, "generation": 1},
        "spec": {"planExecution": {"planName": plan, "uid": "u"}},
        "status": {
            "planStatus": {plan: {"uid": "u", "startedAt": "2026-01-01T00:00:00Z"}},
            "suspendedAt": "2026-01-01T00:00:00Z",
            "conditions": [{"type": "Ready", "status": HOSTILE, "reason": HOSTILE}],
        },
    }
