"""RoleBindings and ClusterRoleBindings of v1alpha1; v1beta1 differs in nothing from v1."""

from typing import Final

from kudo.api import JsonObject
from kudo.removed_apis.shapes import mappings_at

_GROUP: Final = "rbac.authorization.k8s.io"


def upgrade_alpha_binding(binding: JsonObject) -> None:
    for subject in mappings_at(binding, "subjects"):
        _upgrade_subject(subject)


def _upgrade_subject(subject: JsonObject) -> None:
    """Name the group of a subject instead of its version; `*` meant all authenticated users."""
    kind, version = subject.get("kind"), subject.pop("apiVersion", None)
    if kind in ("User", "Group"):
        subject["apiGroup"] = _GROUP
    elif kind == "ServiceAccount":
        subject["apiGroup"] = ""
    elif isinstance(version, str):
        subject["apiGroup"] = version.rpartition("/")[0]
    if kind == "User" and subject.get("name") == "*":
        subject |= {"kind": "Group", "name": "system:authenticated"}
