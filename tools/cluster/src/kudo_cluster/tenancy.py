"""The modes of tenancy: the rights of the reconciler in each, on a local cluster.

A cluster starts with the rights of compat mode (chart-rbac.yaml). All of them are rendered from the
chart by `python -m tools.chart.rbac`.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import yaml

from kudo_cluster.control_plane.api import Administered, kubectl
from kudo_cluster.errors import ClusterError

Tenancy = Literal["strict", "compat"]
IMPERSONATOR: Final = "kudo-impersonator"
"""ClusterRole with the right to act as an account, and its RoleBinding in a tenant's namespace."""
ENVIRONMENT: Final = {
    "webhook": "KUDO_WEBHOOK_TENANCY",
    "reconciler": "KUDO_RECONCILER_TENANCY",
}
"""The variable of `--tenancy` of each service."""
_HERE: Final = Path(__file__).parent
_COMPAT: Final = "chart-rbac.yaml"
_CONSTRAINED: Final = "chart-rbac-strict.yaml"
_LEGACY: Final = "chart-rbac-strict-old.yaml"
_FILES: Final = (_COMPAT, _CONSTRAINED, _LEGACY)
_SECONDS: Final = 60.0
_POLL: Final = 0.1

_Name = tuple[str, str, str]


class Host(Administered, Protocol):
    """A cluster whose reconciler has a name."""

    @property
    def reconciler_user(self) -> str:
        """User name of the reconciler."""


def give_rights(cluster: Host, tenancy: Tenancy, *, constrained: bool = True) -> None:
    """Give the services the rights of a mode, take away those of the others, and await both.

    Args:
        cluster: A local cluster, where the services are the users kudo-webhook and kudo-reconciler.
        tenancy: The mode.
        constrained: Whether the API server has constrained impersonation.

    Raises:
        ClusterError: the API server refuses it, or does not follow.
    """
    chosen = _COMPAT if tenancy == "compat" else _CONSTRAINED if constrained else _LEGACY
    apply = ("apply", "--server-side", "--force-conflicts")
    kubectl(cluster, *apply, "-f", str(_HERE / chosen))
    kept = set(_names(chosen))
    for kind, namespace, name in sorted({*_names(*_FILES)} - kept):
        where = [f"--namespace={namespace}"] if namespace else []
        kubectl(cluster, "delete", kind, name, *where, "--ignore-not-found")
    _await(cluster, tenancy)


def allow_tenant(cluster: Host, namespace: str) -> None:
    """Let the reconciler act as the accounts of a namespace, and wait until it may.

    Raises:
        ClusterError: the API server refuses it, or does not follow.
    """
    user, where = cluster.reconciler_user, f"--namespace={namespace}"
    bound = (f"--clusterrole={IMPERSONATOR}", f"--user={user}", where)
    made = kubectl(
        cluster, "create", "rolebinding", IMPERSONATOR, *bound, "--dry-run=client", "-o=yaml"
    )
    kubectl(cluster, "apply", "--server-side", "--force-conflicts", "-f", "-", text=made)
    role = json.loads(kubectl(cluster, "get", "clusterrole", IMPERSONATOR, "-o=json"))
    who = role["rules"][0]
    kind = ".".join(filter(None, (*who["resources"], *who["apiGroups"])))
    _until(cluster, who["verbs"][0], kind, namespace, allowed=True)


def may(cluster: Host, verb: str, kind: str, namespace: str = "") -> bool:
    """Return whether the reconciler has a right.

    Args:
        cluster: The cluster.
        verb: Such as `list`.
        kind: PLURAL.GROUP or PLURAL of the core group, with /SUBRESOURCE where it is one.
        namespace: In which; empty for all.

    Raises:
        ClusterError: the API server does not answer.
    """
    name, _, subresource = kind.partition("/")
    resource, _, group = name.partition(".")
    asked = {"namespace": namespace, "verb": verb, "group": group, "resource": resource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": cluster.reconciler_user,
            "resourceAttributes": {**asked, "subresource": subresource},
        },
    }
    answer = kubectl(cluster, "create", "-f", "-", "-o=json", text=json.dumps(review))
    return bool(json.loads(answer)["status"]["allowed"])


def _await(cluster: Host, tenancy: Tenancy) -> None:
    """Wait for what the modes differ in, which the API server learns one after the other."""
    for verb, kind in (("create", "instances.kudo.dev"), ("list", "secrets")):
        _until(cluster, verb, kind, allowed=tenancy == "compat")
    if tenancy == "strict":
        # Not the reverse in compat mode: other roles that are bound there may give this right.
        _until(cluster, "list", "namespaces", allowed=True)


def _until(cluster: Host, verb: str, kind: str, namespace: str = "", *, allowed: bool) -> None:
    """Wait until the reconciler has a right, or has it no longer."""
    deadline = time.monotonic() + _SECONDS
    while may(cluster, verb, kind, namespace) != allowed:
        if time.monotonic() > deadline:
            raise ClusterError(f"the reconciler, {verb} {kind}: not {allowed=} in time")
        time.sleep(_POLL)


def _names(*files: str) -> Iterator[_Name]:
    for file in files:
        for obj in _objects(_HERE / file):
            metadata = obj["metadata"]
            yield obj["kind"].lower(), metadata.get("namespace", ""), metadata["name"]


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load_all(path.read_text(encoding="utf-8"))
