"""The rules of tenancy: which account an Instance acts as, and which OperatorVersions it may name.

An Instance may name an OperatorVersion of another namespace that grants it. An answer never depends
on one that does not: it would tell tenants what other namespaces have.

In strict mode plans act as a ServiceAccount of the namespace of their Instance. In compat mode they
act as the reconciler, as in KUDO 0.19, unless the Instance names an account. See docs/security.md.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from kudo.admission.change import Change
from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.api.names import ANNOTATION_ALLOW_FROM, FINALIZER_CLEANUP, PLAN_CLEANUP
from kudo.api.problems import Problem, shown

DEFAULT_ACCOUNT: Final = "default"
"""The account that Kubernetes creates in every namespace."""
_RESERVED_PREFIX: Final = "kube-"
_ANY: Final = "*"
LONGEST_GRANT: Final = 32 * 1024
"""Characters of a grant that count: names of some hundred namespaces. Caches keep no more."""
# Fields of a spec of which not every change needs the grant.
_LOOKED_AT: Final = frozenset({"operator_version", "parameters", "plan_execution"})
# Characters of the namespace and the name of an OperatorVersion in a message.
_KEY: Final = 320


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
    granted = {name.strip() for name in _grant(annotations).split(",")} - {""}
    return _ANY in granted or namespace in granted


def kept_annotations(metadata: JsonObject) -> dict[str, str]:
    """Return the annotations of an OperatorVersion that caches keep: its grant, if it has one."""
    text = _grant(metadata.get("annotations"))
    return {ANNOTATION_ALLOW_FROM: text} if text else {}


def _grant(annotations: object) -> str:
    """Return the grant as far as it counts: whole names within `LONGEST_GRANT`."""
    value = annotations.get(ANNOTATION_ALLOW_FROM) if isinstance(annotations, Mapping) else None
    text = value if isinstance(value, str) else ""
    if len(text) <= LONGEST_GRANT:
        return text
    # A name that the bound cuts off would be another one.
    return text[: LONGEST_GRANT + 1].rpartition(",")[0]


def may_use(instance: Instance, version: OperatorVersion | None) -> bool:
    """Return whether an Instance may use the OperatorVersion that it names.

    One that does not exist is granted to nobody but Instances of its own namespace, so that nobody
    learns from an answer which OperatorVersions other namespaces have.

    Args:
        instance: The Instance.
        version: The OperatorVersion that it names; None if that does not exist.
    """
    owner, _ = instance.operator_version_key
    annotations = None if version is None else version.metadata.annotations
    return is_granted(annotations, owner, instance.metadata.namespace)


def lacks_grant(instance: Instance, version: OperatorVersion | None, tenancy: Tenancy) -> bool:
    """Return whether an Instance may not use its OperatorVersion; see `may_use`."""
    return tenancy is Tenancy.STRICT and not may_use(instance, version)


def not_granted(instance: Instance) -> Problem:
    """Return why an Instance may not use the OperatorVersion of another namespace that it names.

    It says the same whether that exists or not.
    """
    owner, name = instance.operator_version_key
    own = shown(instance.metadata.namespace, _KEY)
    text = (
        f"OperatorVersion {shown(f'{owner}/{name}', _KEY)} does not exist or is not granted to "
        f"namespace {own}; whoever owns it grants it by its annotation {ANNOTATION_ALLOW_FROM}: "
        f"{own}"
    )
    return Problem("OperatorVersionNotGranted", text, "spec.operatorVersion")


def grant_missing(instance: Instance) -> str:
    """Return the warning of compat mode about a reference that strict mode denies."""
    owner, name = instance.operator_version_key
    own = shown(instance.metadata.namespace, _KEY)
    return (
        f"OperatorVersion {shown(f'{owner}/{name}', _KEY)} is of another namespace and not granted "
        f"to namespace {own}: with tenancy strict it cannot be used; grant it by its annotation "
        f"{ANNOTATION_ALLOW_FROM}: {own}"
    )


def needs_grant(old: Instance | None, new: Instance) -> bool:
    """Return whether a change needs the grant: a creation, another reference, or a run.

    A change of parameters counts as a run, whichever plan it would trigger, and so does one of a
    field that is not looked at here. Without the grant a run can be cancelled, and an Instance that
    is being deleted is cleaned up.
    """
    if old is None or old.operator_version_key != new.operator_version_key:
        return True
    if old.parameters != new.parameters or old.spec.differing(new.spec) - _LOOKED_AT:
        return True
    change = Change(old, new, None, stand_in(new))
    return not change.deleting and change.direct is not None


def stand_in(instance: Instance) -> OperatorVersion:
    """Return an OperatorVersion that says no more than the Instance itself.

    It takes the place of one that is not granted, where a change needs no grant: it has a cleanup
    plan if the Instance has the finalizer for that.
    """
    namespace, name = instance.operator_version_key
    cleanup = FINALIZER_CLEANUP in (instance.metadata.finalizers or ())
    plans: JsonObject = {PLAN_CLEANUP: {}} if cleanup else {}
    metadata = {"namespace": namespace, "name": name}
    return OperatorVersion.from_wire({"metadata": metadata, "spec": {"plans": plans}})
