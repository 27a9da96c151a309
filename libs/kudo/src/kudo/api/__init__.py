"""Models of the API group kudo.dev/v1beta1, the source of the CRDs in `crds/`.

The models are imported at the first use of one of them: they take 0.15 s of CPU at the start of a
process, and the worker processes of the reconciler, which are started often, need none.
"""

import importlib
from typing import TYPE_CHECKING

from kudo.api.names import default_instance_name, operator_version_name
from kudo.api.wire import ExecutionStatus, Json, JsonObject

if TYPE_CHECKING:
    from kudo.api.base import ApiModel, ObjectMeta, ObjectReference, OwnerReference
    from kudo.api.instance import (
        NO_PLAN_TO_RETRY,
        NO_RUN_TO_RETRY,
        NO_VERSION_NAMED,
        Cause,
        Condition,
        Instance,
        InstanceSpec,
        InstanceStatus,
        LastRun,
        NotInForce,
        Orphan,
        PhaseStatus,
        PlanExecution,
        PlanStatus,
        RunRecord,
        StepStatus,
        TaskStatus,
        new_run,
    )
    from kudo.api.inventory import Inventory, InventoryObject
    from kudo.api.operatorversion import (
        CheckSpec,
        JobSpec,
        Maintainer,
        Operator,
        OperatorSpec,
        OperatorVersion,
        OperatorVersionSpec,
        Phase,
        PipeFile,
        Plan,
        Step,
        Task,
        TaskSpec,
    )
    from kudo.api.parameter import Parameter
    from kudo.api.parameter_source import ParameterSource, SourceRecord
    from kudo.api.setting import Reference, Setting

__all__ = [
    "NO_PLAN_TO_RETRY",
    "NO_RUN_TO_RETRY",
    "NO_VERSION_NAMED",
    "ApiModel",
    "Cause",
    "CheckSpec",
    "Condition",
    "ExecutionStatus",
    "Instance",
    "InstanceSpec",
    "InstanceStatus",
    "Inventory",
    "InventoryObject",
    "JobSpec",
    "Json",
    "JsonObject",
    "LastRun",
    "Maintainer",
    "NotInForce",
    "ObjectMeta",
    "ObjectReference",
    "Operator",
    "OperatorSpec",
    "OperatorVersion",
    "OperatorVersionSpec",
    "Orphan",
    "OwnerReference",
    "Parameter",
    "ParameterSource",
    "Phase",
    "PhaseStatus",
    "PipeFile",
    "Plan",
    "PlanExecution",
    "PlanStatus",
    "Reference",
    "RunRecord",
    "Setting",
    "SourceRecord",
    "Step",
    "StepStatus",
    "Task",
    "TaskSpec",
    "TaskStatus",
    "default_instance_name",
    "new_run",
    "operator_version_name",
]

# Those first whose models packages have, too.
_MODULES = (
    "setting",
    "base",
    "parameter",
    "parameter_source",
    "operatorversion",
    "instance",
    "inventory",
)


def __getattr__(name: str) -> object:
    """Import the module of a model.

    Raises:
        AttributeError: there is no such model.
    """
    if name in __all__:
        for module_name in _MODULES:
            module = importlib.import_module(f"{__name__}.{module_name}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
