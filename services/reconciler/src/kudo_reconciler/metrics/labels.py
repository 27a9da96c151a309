"""Every value that a label of a metric can take.

Invariant: every label has a bounded number of values, but those of `suspended`, which bounds its
series. What is not listed here counts as `other`, so
that neither a name that a tenant chooses (a plan, a kind, a namespace) nor a value that a server
sends creates a series.
"""

from http import HTTPStatus
from typing import Final

from kubeio.resource import Resource
from kudo.api import ExecutionStatus
from kudo.api.names import GROUP, PLAN_CLEANUP, PLAN_DEPLOY, PLAN_UPDATE, PLAN_UPGRADE

OTHER: Final = "other"

PLANS: Final = (PLAN_DEPLOY, PLAN_UPDATE, PLAN_UPGRADE, PLAN_CLEANUP, OTHER)
"""The plans with a name that KUDO itself knows."""

RUN_STATUSES: Final = (str(ExecutionStatus.COMPLETE), str(ExecutionStatus.FATAL_ERROR))

RECONCILE_OUTCOMES: Final = (
    "crash",
    "deleted",
    "deleting",
    "error",
    "finished",
    "gone",
    "idle",
    "invalid",
    "outdated",
    "refused",
    "retry",
    "scheduled",
    "suspended",
    "waiting",
    OTHER,
)

APPLY_OUTCOMES: Final = ("applied", "refused", "failed")

NO_REASON: Final = ""
SUPERSEDED: Final = "PlanSuperseded"
STOPPED: Final = "PlanStopped"

RUN_REASONS: Final = (
    NO_REASON,
    "CheckFailed",
    "CheckInvalid",
    "CircularDependency",
    "CleanupNotManual",
    "ConditionInvalid",
    "DigestKeyMissing",
    "DummyTaskError",
    "FailedTerminalStateError",
    "InvalidOperatorVersion",
    "InvalidParams",
    "InvalidPlan",
    "JobFailed",
    "JobResultUnknown",
    "JobTaskError",
    "NamespaceReserved",
    "NotUpgradable",
    "ObjectRetained",
    "OperatorChanged",
    "OperatorVersionChanged",
    "OperatorVersionNotFound",
    "OutputsInvalid",
    "OutputsLost",
    "ParameterImmutable",
    "ParameterInvalid",
    "ParameterRequired",
    "ParameterSetTwice",
    "ParameterSourceForbidden",
    "ParameterSourceInvalid",
    "ParameterSourceMissing",
    "ParameterSourceUnusable",
    "ParameterTooLarge",
    "ParametersChanged",
    "PipeTaskError",
    "PlanCancelled",
    "PlanRunning",
    STOPPED,
    SUPERSEDED,
    "ResourceUnmarshalError",
    "ResourceValidationError",
    "RetryChanged",
    "RetryNotFailed",
    "RetryNotLast",
    "RetryUnknownStep",
    "SecretInPlainText",
    "ServiceAccountNotFound",
    "TaskApplyError",
    "TaskBuildError",
    "TaskCheckError",
    "TaskDeleteError",
    "TaskEnhancementError",
    "TaskRenderingError",
    "TimeLimitInvalid",
    "TimedOut",
    "ToggleTaskError",
    "TooManyObjects",
    "UnknownTaskName",
    OTHER,
)
"""Why a run did not complete; the reasons of its events and conditions."""

API_VERBS: Final = (
    "GET",
    "LIST",
    "WATCH",
    "POST",
    "PUT",
    "PATCH",
    "APPLY",
    "DELETE",
    "EXEC",
    OTHER,
)
NO_CODE: Final = "none"
API_CODES: Final = (NO_CODE, *(str(int(status)) for status in HTTPStatus), OTHER)
API_OUTCOMES: Final = ("ok", "refused", "failed", "timeout", "lost", "cancelled")

WATCH_ENDINGS: Final = ("ended", "error", "gone", "malformed", "silent")

WATCHED_RESOURCES: Final = (
    f"instances.{GROUP}",
    f"operatorversions.{GROUP}",
    "configmaps",
    "cronjobs.batch",
    "daemonsets.apps",
    "deployments.apps",
    "ingresses.networking.k8s.io",
    "jobs.batch",
    "persistentvolumeclaims",
    "poddisruptionbudgets.policy",
    "pods",
    "replicasets.apps",
    "rolebindings.rbac.authorization.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "secrets",
    "serviceaccounts",
    "services",
    "statefulsets.apps",
    OTHER,
)
"""KUDO's own kinds, and the built-in ones that operators consist of."""

INSTANCE_STATES: Final = ("ready", "progressing", "failed", "not_ready", "deleting", "unknown")


def plan_label(plan: str) -> str:
    return _one_of(PLANS, plan)


def reason_label(reason: str) -> str:
    return _one_of(RUN_REASONS, reason)


def reconcile_label(outcome: str) -> str:
    return _one_of(RECONCILE_OUTCOMES, outcome)


def verb_label(verb: str) -> str:
    return _one_of(API_VERBS, verb)


def code_label(status: int) -> str:
    """Return the label of an HTTP status; 0 means that there was no response."""
    return _one_of(API_CODES, str(status)) if status else NO_CODE


def resource_label(resource: Resource) -> str:
    return _one_of(WATCHED_RESOURCES, resource.name)


def _one_of(values: tuple[str, ...], value: str) -> str:
    return value if value in values else OTHER
