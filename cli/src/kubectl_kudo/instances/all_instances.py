"""Lists the Instances that may use an OperatorVersion of a namespace: those of all namespaces."""

from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.session.session import Session
from kubeio.errors import Forbidden


async def all_instances(session: Session, *, tell: bool = True) -> list[JsonObject]:
    """Return the Instances of all namespaces: they may use OperatorVersions of another one.

    Without permission for that, returns those of the namespace, and says so unless `tell` is off.
    """
    try:
        return (await session.client.list(INSTANCES)).items
    except Forbidden:
        if tell:
            talk(
                "You may not list the instances of other namespaces: whether one of them uses an "
                f"operatorversion of namespace {session.namespace} is unknown."
            )
        return (await session.client.list(INSTANCES, namespace=session.namespace)).items


def version_key(instance: JsonObject) -> tuple[str, str]:
    """Return namespace and name of the OperatorVersion of an Instance."""
    reference = (instance.get("spec") or {}).get("operatorVersion") or {}
    namespace = reference.get("namespace") or instance["metadata"]["namespace"]
    return str(namespace), str(reference.get("name") or "")
