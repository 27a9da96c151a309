"""Finds the rights of an Instance's account, which stay: its cleanup plan needs them."""

from kubectl_kudo.accounts.names import cluster_role_name, role_name
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.session import Session
from kubeio.errors import ApiError
from kubeio.kinds import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS
from kubeio.resource import Resource


async def account_left_behind(session: Session, instance: JsonObject) -> str:
    """Return a text with the command that deletes the rights; empty if there are none."""
    account = (instance.get("spec") or {}).get("serviceAccountName")
    if not account:
        return ""
    name, namespace = instance["metadata"]["name"], instance["metadata"]["namespace"]
    role, cluster_role = role_name(name), cluster_role_name(namespace, name)
    what, commands = [], []
    if await _exists(session, ROLE_BINDINGS, role, namespace):
        what.append(f"role and rolebinding {role}")
        commands.append(f"kubectl delete role,rolebinding {role} -n {namespace}")
    if await _exists(session, CLUSTER_ROLE_BINDINGS, cluster_role, None):
        what.append(f"clusterrole and clusterrolebinding {cluster_role}")
        commands.append(f"kubectl delete clusterrole,clusterrolebinding {cluster_role}")
    if not what:
        return ""
    return (
        f"{', '.join(what)} of account {account} stay. Once the instance is gone: "
        f"{'; '.join(commands)}; also serviceaccount {account}, if nothing else uses it"
    )


async def _exists(session: Session, kind: Resource, name: str, namespace: str | None) -> bool:
    try:
        await session.client.get(kind, name, namespace=namespace)
    except (ApiError, ValueError):  # there is none, or the user may not read it
        return False
    return True
