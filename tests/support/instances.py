"""What an Instance says: its plans, steps, tasks and conditions."""

from tests.support.build import Json


def idle(instance: Json) -> bool:
    status = instance.get("status") or {}
    scheduled = instance["spec"].get("planExecution") or {}
    return not scheduled and status.get("observedGeneration") == instance["metadata"]["generation"]


def scheduled(instance: Json) -> Json:
    found: Json = instance["spec"].get("planExecution") or {}
    return found


def entry(instance: Json, plan: str) -> Json:
    found: Json = ((instance.get("status") or {}).get("planStatus") or {}).get(plan) or {}
    return found


def status_of(instance: Json, plan: str) -> str:
    return str(entry(instance, plan).get("status", ""))


def steps(instance: Json, plan: str) -> dict[str, str]:
    """Return the status of each step as `phase.step`."""
    return {
        f"{phase['name']}.{step['name']}": step["status"]
        for phase in entry(instance, plan).get("phases", [])
        for step in phase.get("steps", [])
    }


def messages(instance: Json, plan: str) -> str:
    """Return the messages of the plan and its steps."""
    found = [entry(instance, plan).get("message", "")]
    for phase in entry(instance, plan).get("phases", []):
        found += [step.get("message", "") for step in phase.get("steps", [])]
    return "\n".join(filter(None, found))


def ready(instance: Json) -> Json:
    conditions = (instance.get("status") or {}).get("conditions") or []
    return next((c for c in conditions if c["type"] == "Ready"), {})


def condition(instance: Json, kind: str) -> Json:
    """Return a condition of the Instance, or an empty one."""
    conditions = (instance.get("status") or {}).get("conditions") or []
    return next((c for c in conditions if c["type"] == kind), {})


def reason_of(instance: Json, kind: str = "Ready") -> tuple[str, str]:
    """Return status and reason of a condition."""
    found = condition(instance, kind)
    return found.get("status", ""), found.get("reason", "")


def conditions(instance: Json) -> list[str]:
    """Return the types of all conditions, in their order."""
    return [c["type"] for c in (instance.get("status") or {}).get("conditions") or []]


def tasks_of(instance: Json, plan: str) -> dict[str, Json]:
    """Return the status entry of each task as `step.task`."""
    return {
        f"{step['name']}.{one['name']}": one
        for phase in entry(instance, plan).get("phases", [])
        for step in phase.get("steps", [])
        for one in step.get("tasks", [])
    }
