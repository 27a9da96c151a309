"""The rules of tenancy: which account an Instance acts as, and which OperatorVersions it may name.

In strict mode plans act as a ServiceAccount of the namespace of their Instance. In compat mode they
act as the reconciler, as in KUDO 0.19, unless the Instance names an account. See docs/security.md.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from kudo.api import Instance
from kudo.names import ANNOTATION_ALLOW_FROM

DEFAULT_ACCOUNT: Final = "default"
"""The account that Kubernetes creates in every namespace."""
_RESERVED_PREFIX: Final = "kube-"
_ANY: Final = "*"


class Tenancy(Enum):
    """The mode of an installation."""

    STRICT = "strict"
    COMPAT = "compat"


def account_of(instance: Instance, mode: Tenancy, default: str | None = None) -> str | None:
    """Return the name of the account that an Instance acts as; None for the reconciler itself.

    A run keeps the account that it began with, whatever the Instance and the namespace name since.

    Args:
        instance: The Instance.
        mode: Of the installation.
        default: The default account of the namespace, which counts in strict mode alone.
    """
    last, run = instance.status.last_run, instance.scheduled.uid
    if last is not None and run and last.uid == run and last.service_account_name:
        return last.service_account_name
    if instance.spec.service_account_name:
        return instance.spec.service_account_name
    return (default or DEFAULT_ACCOUNT) if mode is Tenancy.STRICT else None


def is_reserved(namespace: str, own: str) -> bool:
    """Return whether nobody is impersonated in a namespace, since it is one of the system.

    Kubernetes reserves the prefix `kube-`. The accounts of KUDO are in its own namespace.

    Args:
        namespace: The namespace of an account.
        own: The namespace of the reconciler.
    """
    return namespace.startswith(_RESERVED_PREFIX) or namespace == own


def is_granted(annotations: Mapping[str, str] | None, owner: str, namespace: str) -> bool:
    """Return whether Instances of a namespace may use an OperatorVersion.

    Args:
        annotations: Of the OperatorVersion.
        owner: Its namespace, whose Instances always may.
        namespace: The namespace of the Instance.
    """
    if namespace == owner:
        return True
    text = (annotations or {}).get(ANNOTATION_ALLOW_FROM) or ""
    granted = {name.strip() for name in text.split(",")} - {""}
    return _ANY in granted or namespace in granted
