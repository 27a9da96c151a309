"""The rights that the chart installs, given to users instead of service accounts.

    python -m tools.chart.rbac

prints them. A local cluster runs both services beside it, each with a client certificate whose
common name is the user; whatever works with these rights works in a real installation.
"""

import sys
from collections.abc import Mapping
from typing import Any

import yaml

from tools.chart.helm import Json, render

_GROUP = "rbac.authorization.k8s.io"


def rights(values: Mapping[str, Any] | None = None, *, users: bool = True) -> list[Json]:
    """Return the chart's roles and bindings, without those of its hooks.

    Args:
        values: What differs from values.yaml.
        users: Whether bindings name the users kudo-webhook and kudo-reconciler; else they name
            the service accounts, as the chart does.

    Raises:
        tools.chart.helm.HelmError: the values are refused.
    """
    found = [obj for obj in render(values) if obj["apiVersion"].startswith(_GROUP)]
    kept = [obj for obj in found if "annotations" not in obj["metadata"]]
    return [_for_users(obj) for obj in kept] if users else kept


def _for_users(obj: Json) -> Json:
    if "subjects" not in obj:
        return obj
    subjects = [
        {"apiGroup": _GROUP, "kind": "User", "name": subject["name"]} for subject in obj["subjects"]
    ]
    return {**obj, "subjects": subjects}


if __name__ == "__main__":
    yaml.safe_dump_all(rights(), sys.stdout, sort_keys=False)
