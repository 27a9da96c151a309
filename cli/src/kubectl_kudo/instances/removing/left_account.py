"""Finds the rights of an Instance's account, which stay: its cleanup plan needs them."""

from kubectl_kudo.accounts.names import role_name
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.session import Session
from kubeio.errors import ApiError
from kubeio.kinds import ROLE_BINDINGS


async def account_left_behind(session: Session, instance: JsonObject) -> str:
    """Return a text with the command that deletes the rights; empty if there are none."""
    account = (instance.get("spec") or {}).get("serviceAccountName")
    if not account:
        return ""
    metadata = instance["metadata"]
    role = role_name(metadata["name"])
    try:
        await session.client.get(ROLE_BINDINGS, role, namespace=metadata["namespace"])
    except (ApiError, ValueError):  # there is none, or the user may not read it
        return ""
    return (
        f"role and rolebinding {role} of account {account} stay. Once the instance is gone: "
        f"kubectl delete role,rolebinding {role} -n {metadata['namespace']}; also serviceaccount "
        f"{account}, if nothing else uses it"
    )
