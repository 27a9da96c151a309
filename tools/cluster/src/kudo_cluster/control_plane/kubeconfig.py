"""The identities of a cluster, and their kubeconfig files.

There are four identities, each with a client certificate: ``admin`` is in ``system:masters``, for
the setup only; ``user`` has the rights of rbac.yaml; ``webhook`` and ``reconciler`` have those of
chart-rbac.yaml, which are generated from the chart. Keys are inlined, so a kubeconfig can be
copied; its mode is 0600.
"""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from kudo_cluster.control_plane.pki import Authority, Pair, write_private

Role = Literal["admin", "user", "webhook", "reconciler"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Identity:
    """A Kubernetes user name and its groups."""

    user: str
    groups: tuple[str, ...] = ()


IDENTITIES: dict[Role, Identity] = {
    "admin": Identity("kudo-admin", ("system:masters",)),
    "user": Identity("kudo-user"),
    "webhook": Identity("kudo-webhook"),
    "reconciler": Identity("kudo-reconciler"),
}


def path_of(directory: Path, role: Role) -> Path:
    """Return the path of a role's kubeconfig in a cluster's directory."""
    return directory / "kubeconfigs" / f"{role}.kubeconfig"


def write_all(directory: Path, *, cluster: str, server: str, authority: Authority) -> None:
    """Issue a client certificate for each role and write its kubeconfig."""
    for role in ROLES:
        path = path_of(directory, role)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, IDENTITIES[role], cluster=cluster, server=server, authority=authority)


def write(path: Path, who: Identity, *, cluster: str, server: str, authority: Authority) -> None:
    """Issue a client certificate for an identity and write its kubeconfig."""
    pair = authority.client(who.user, *who.groups)
    document = _document(cluster, server, authority.pair.certificate, who.user, pair)
    # JSON is YAML, which every reader of kubeconfigs accepts.
    write_private(path, json.dumps(document, indent=2).encode())


def _document(cluster: str, server: str, ca: bytes, user: str, pair: Pair) -> dict[str, object]:
    name = f"kudo-{cluster}"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": server, "certificate-authority-data": _base64(ca)},
            }
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _base64(pair.certificate),
                    "client-key-data": _base64(pair.key),
                },
            }
        ],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": user, "namespace": "default"}}
        ],
        "current-context": name,
    }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
