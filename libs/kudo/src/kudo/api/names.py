"""The fixed names of KUDO's API: group, labels, annotations, finalizers, plan names.

`operator_version_name` and `default_instance_name` are those that the command line gives objects.

They are the contract with existing packages, custom resources and tools of KUDO 0.19; none may
change.
"""

from typing import Final

GROUP: Final = "kudo.dev"
VERSION: Final = "v1beta1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
EXTENDED: Final = "0.20.0"
"""The first `kudoVersion` with more than KUDO 0.19 reads, such as the short form of plans."""

OPERATORS: Final = (GROUP, VERSION, "Operator", "operators", True)
"""Group, version, kind, plural, and whether it is namespaced: where a kind lives in the API."""
OPERATOR_VERSIONS: Final = (GROUP, VERSION, "OperatorVersion", "operatorversions", True)
INSTANCES: Final = (GROUP, VERSION, "Instance", "instances", True)
INVENTORIES: Final = (GROUP, VERSION, "Inventory", "inventories", True)

LABEL_HERITAGE: Final = "heritage"
HERITAGE: Final = "kudo"
LABEL_OPERATOR: Final = "kudo.dev/operator"
LABEL_INSTANCE: Final = "kudo.dev/instance"
LABEL_JOB_OF: Final = "kudo.dev/job-of"
"""Of the Job of a Job task, and of its pods: the task."""

OUTPUT_NAME: Final = "[A-Za-z0-9_.-]{1,63}"
"""The name of an output of a task, as a regular expression."""

ANNOTATION_PLAN: Final = "kudo.dev/plan"
ANNOTATION_PHASE: Final = "kudo.dev/phase"
ANNOTATION_STEP: Final = "kudo.dev/step"
ANNOTATION_PLAN_UID: Final = "kudo.dev/last-plan-execution-uid"
ANNOTATION_OPERATOR_VERSION: Final = "kudo.dev/operator-version"
ANNOTATION_DEPENDENCIES_HASH: Final = "kudo.dev/dependencies-hash"
ANNOTATION_SKIP_HASH: Final = "kudo.dev/skip-hash-calculation"
ANNOTATION_DEPENDENCY_CONTENT: Final = "kudo.dev/dependency-content"
ANNOTATION_LAST_APPLIED: Final = "kudo.dev/last-applied-configuration"
ANNOTATION_SHARED_BY: Final = "kudo.dev/shared-by"
ANNOTATION_PIPE_POD: Final = "kudo.dev/pipepod"
ANNOTATION_DELETE_WITH_INSTANCE: Final = "kudo.dev/delete-with-instance"
ANNOTATION_DELETION_POLICY: Final = "kudo.dev/deletion-policy"
"""Of an object of a template: `retain` keeps it when its Instance is deleted."""
RETAIN: Final = "retain"
ANNOTATION_APPLY_POLICY: Final = "kudo.dev/apply-policy"
"""Of an object of a template: `create` leaves it as it is once it exists."""
CREATE: Final = "create"
ANNOTATION_SHOW_TERMINATION_MESSAGE: Final = "kudo.dev/show-termination-message"
"""Of a pod template or a Pod: "true" shows what a container that failed left in its termination
message, to all who read the Instance."""
ANNOTATION_RETAINED_BY: Final = "kudo.dev/retained-by"
"""Of a retained object: its Instance, as `namespace/name/operator/uid`."""
ANNOTATION_PRUNE: Final = "kudo.dev/prune"
"""Of an object of a template: "true" lets it be pruned although its kind holds data."""
ANNOTATION_PRUNE_REQUESTED: Final = "kudo.dev/prune-requested-at"
"""Of an Instance: its orphans are to be deleted, once; removed when that is done."""
ANNOTATION_ADOPT_REQUESTED: Final = "kudo.dev/adopt-requested-at"
"""Of an Instance: what it owns is to be recorded; removed when that is done."""
ANNOTATION_ALLOW_FROM: Final = "kudo.dev/allow-from"
"""Of an OperatorVersion: the other namespaces whose Instances may use it."""
ANNOTATION_SERVICE_ACCOUNT: Final = "kudo.dev/service-account"
"""Of a Namespace: the account that its Instances act as if they name none."""

FINALIZER_CLEANUP: Final = "kudo.dev.instance.cleanup"
FINALIZER_CLUSTER_RESOURCES: Final = "kudo.dev/cluster-resources"

FIELD_MANAGER: Final = "kudo"
EVENT_COMPONENT: Final = "instance-controller"

PLAN_DEPLOY: Final = "deploy"
PLAN_UPDATE: Final = "update"
PLAN_UPGRADE: Final = "upgrade"
PLAN_CLEANUP: Final = "cleanup"


def operator_version_name(operator: str, version: str, app_version: str = "") -> str:
    """Return the object name that the CLI gives an OperatorVersion."""
    return "-".join(part for part in (operator, app_version, version) if part)


def default_instance_name(operator: str) -> str:
    return f"{operator}-instance"
