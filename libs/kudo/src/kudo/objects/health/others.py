"""Health of claims, Services, CRDs, Namespaces, APIServices, and Instances that a plan applies."""

from kudo.api import ExecutionStatus, JsonObject
from kudo.objects.health.reading import (
    condition,
    count,
    explained,
    generation,
    is_false,
    is_terminating,
    is_true,
    items,
    mapping,
    metadata,
    name,
    own_message,
    spec,
    status,
    text,
    where,
)
from kudo.objects.health.result import HEALTHY, Health, failed, is_current, waiting
from kudo.plans.runs import conditions

_SELECTED_NODE = "volume.kubernetes.io/selected-node"


def persistent_volume_claim(obj: JsonObject) -> Health:
    """Return the health of a claim so that no plan waits for pods of its own later steps.

    * Bound is healthy, also while the volume is being expanded: that may need a restart of the pod,
      which may be a later step.
    * Lost is terminal: the volume is gone, and the data with it.
    * Pending is healthy, where kstatus waits. With a class of volumeBindingMode
      WaitForFirstConsumer, the default of most clusters, no volume is made before a pod uses the
      claim, and packages apply claims in a step before the pods. The claim does not tell the mode
      of its class. Whoever uses the claim waits for the volume anyway, and so does the step that
      waits for its pods.
    * Pending with a selected node is waited for: a pod that uses the claim was scheduled there, and
      until the provisioner is done or gives up (it takes the annotation off then) no other node
      will do. No later step can help with that.
    """
    phase = text(status(obj).get("phase"))
    claim = f"persistentvolumeclaim {where(obj)}"
    if phase == "Lost":
        return failed(f"{claim} has lost its volume {text(spec(obj).get('volumeName'))}".rstrip())
    node = text(mapping(metadata(obj).get("annotations")).get(_SELECTED_NODE))
    if phase == "Pending" and node:
        return waiting(f"{claim} is not bound: its volume is being provisioned for node {node}")
    return HEALTHY


def service(obj: JsonObject) -> Health:
    """Healthy if the Service has the addresses of its type."""
    described = f"service {where(obj)}"
    kind = spec(obj).get("type")
    if kind == "ExternalName":
        return HEALTHY
    if not spec(obj).get("clusterIP"):
        return waiting(f"{described} does not have cluster IP address")
    if kind != "LoadBalancer" or spec(obj).get("externalIPs"):
        return HEALTHY
    if mapping(status(obj).get("loadBalancer")).get("ingress"):
        return HEALTHY
    return waiting(
        f"{described} does not have load balancer ingress IP address; "
        "a controller of the cluster for Services of type LoadBalancer has to assign one"
    )


def custom_resource_definition(obj: JsonObject) -> Health:
    """Healthy if the CustomResourceDefinition is served.

    Names that another definition has taken are terminal, once they are known to be these names.
    """
    names_accepted = condition(obj, "NamesAccepted")
    if is_true(condition(obj, "Established")):
        return HEALTHY
    if is_false(names_accepted) and is_current(obj, names_accepted):
        return failed(f"CRD {name(obj)} has failed terminally: {own_message(names_accepted)}")
    # As in the message of KUDO 0.19.
    fields = ("type", "status", "reason", "message")
    listed = (
        f"{{{' '.join(filter(None, (text(state.get(field)) for field in fields)))}}}"
        for state in items(status(obj).get("conditions"))
    )
    conditions = " ".join(listed)
    return waiting(f"CRD {name(obj)} is not healthy ( Conditions: [{conditions}] )")


def namespace(obj: JsonObject) -> Health:
    """Healthy if the Namespace is active."""
    phase = text(status(obj).get("phase")) or "Unknown"
    if is_terminating(obj):
        phase = "Terminating"
    if phase == "Active":
        return HEALTHY
    return waiting(f"namespace {name(obj)} is not active: {phase}")


def api_service(obj: JsonObject) -> Health:
    """Healthy if the server behind the APIService is available."""
    available = condition(obj, "Available")
    if is_true(available):
        return HEALTHY
    detail = explained(available) or "Unknown"
    return waiting(f"apiservice {name(obj)} is not available: {detail}")


_COMPLETE, _FATAL_ERROR = ExecutionStatus.COMPLETE.value, ExecutionStatus.FATAL_ERROR.value


def instance(obj: JsonObject) -> Health:
    """Healthy if nothing runs, the status is up to date, and the last run succeeded.

    A last run that ended in FATAL_ERROR is terminal, and so is an Instance that its controller
    refuses to run: neither goes on until somebody changes something.
    """
    scheduled = mapping(spec(obj).get("planExecution"))
    plan = text(scheduled.get("planName"))
    if plan:
        # Until the run has begun, the entry is that of the run before it.
        entry = _entry(obj, scheduled.get("planName"))
        source = entry if entry.get("uid") == scheduled.get("uid") else scheduled
        state = text(source.get("status")) or ExecutionStatus.NEVER_RUN.value
        return waiting(f"instance {where(obj)} active plan is in state {state} (plan {plan})")
    if count(status(obj).get("observedGeneration")) < max(generation(obj), 1):
        return waiting(
            f"instance {where(obj)} is not healthy: Waiting for spec update to be observed..."
        )
    last = _last_run(obj)
    state = text(last.get("status"))
    if state == _FATAL_ERROR:
        plan = f"plan {text(last.get('name'))} ended with {_FATAL_ERROR}"
        return failed(": ".join(filter(None, (f"instance {where(obj)} {plan}", _failure(last)))))
    stalled = condition(obj, conditions.STALLED)
    if is_true(stalled) and is_current(obj, stalled):
        return failed(f"instance {where(obj)} has failed terminally: {own_message(stalled)}")
    if state == _COMPLETE:
        return HEALTHY
    state = state or ExecutionStatus.NEVER_RUN.value
    return waiting(f"instance {where(obj)} active plan is in state {state}")


def failed_plan(obj: JsonObject) -> str:
    """Return the plan whose run was the last of an Instance and failed; empty if it did not."""
    last = _last_run(obj)
    return text(last.get("name")) if last.get("status") == _FATAL_ERROR else ""


def _last_run(obj: JsonObject) -> JsonObject:
    """Return the entry of the last run, or an empty one.

    The original did not write down which run was the last; then it is the entry with the latest
    time, which sorts as text. The record of what it left is of no run.
    """
    last = mapping(status(obj).get("lastRun"))
    if text(last.get("plan")):
        entry = _entry(obj, last.get("plan"))
        return entry if entry.get("uid") == last.get("uid") else {}
    entries = items(list(mapping(status(obj).get("planStatus")).values()))
    return max(entries, key=lambda entry: text(entry.get("lastUpdatedTimestamp")), default={})


def _entry(obj: JsonObject, plan: object) -> JsonObject:
    return mapping(mapping(status(obj).get("planStatus")).get(text(plan)))


def _failure(entry: JsonObject) -> str:
    """Return why a run failed: the message of the plan, or of its failed step."""
    steps = [step for phase in items(entry.get("phases")) for step in items(phase.get("steps"))]
    parts = [entry, *(step for step in steps if step.get("status") == _FATAL_ERROR)]
    return next(filter(None, (text(part.get("message")) for part in parts)), "")
