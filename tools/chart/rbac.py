"""The RBAC and the policy of the chart, for users instead of service accounts.

    python -m tools.chart.rbac [--check]

writes a file for each mode of tenancy, and one with the policy of Inventories, to the package that
starts local clusters; with `--check` it only prints which are stale. A local cluster runs both
services outside of it, each with a client certificate whose common name is the user; whatever works
with these rights works in a real installation. They are checked in, so that the demo needs no Helm.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tools.chart.helm import CHART, NAMESPACE, HelmError, Json, render

FOLDER: Final = CHART.parents[1] / "tools" / "cluster" / "src" / "kudo_cluster"
FILES: Final[Mapping[str, Mapping[str, Any]]] = {
    "chart-rbac.yaml": {"mode": "compat", "constrainedImpersonation": True},
    "chart-rbac-strict.yaml": {"mode": "strict", "constrainedImpersonation": True},
    "chart-rbac-strict-old.yaml": {"mode": "strict", "constrainedImpersonation": False},
}
"""The values `tenancy` of each file; the last is for servers without constrained impersonation."""
POLICY: Final = "kudo-inventories"
POLICY_FILE: Final = "inventories-policy.yaml"
USER: Final = "${RECONCILER}"
_HEADER: Final = "# Rendered from charts/kudo by `make manifests`; do not edit.\n"
_GROUP: Final = "rbac.authorization.k8s.io"
_OF_HELM: Final = ("app.kubernetes.io/", "helm.sh/")


def rights(values: Mapping[str, Any] | None = None, *, users: bool = True) -> list[Json]:
    """Return the chart's roles and bindings, without those of its hooks.

    Args:
        values: What differs from values.yaml.
        users: Whether bindings name the users kudo-webhook and kudo-reconciler; else they name
            the service accounts, as the chart does.

    Raises:
        tools.chart.helm.HelmError: the values are rejected.
    """
    objects = [obj for obj in render(values) if obj["apiVersion"].startswith(_GROUP)]
    kept = [obj for obj in objects if "annotations" not in obj["metadata"]]
    return [_for_users(obj) for obj in kept] if users else kept


def texts() -> dict[str, str]:
    """Return the text of each file by its name, without labels of Helm.

    Raises:
        tools.chart.helm.HelmError: Helm cannot be built, or rejects the chart.
    """
    texts = {name: _text(rights({"tenancy": tenancy})) for name, tenancy in FILES.items()}
    return {**texts, POLICY_FILE: _text(policy())}


def policy() -> list[Json]:
    """Return the policy of Inventories and its binding; ${RECONCILER} stands for the user.

    Raises:
        tools.chart.helm.HelmError: Helm cannot be built.
    """
    objects = [obj for obj in render() if obj["metadata"]["name"] == POLICY]
    text = json.dumps(objects).replace(f"system:serviceaccount:{NAMESPACE}:kudo-reconciler", USER)
    replaced: list[Json] = json.loads(text)
    return replaced


def _text(found: Iterable[Json]) -> str:
    objects = [_without_helm(obj) for obj in found]
    return _HEADER + yaml.safe_dump_all(objects, explicit_start=True, sort_keys=False)


def _for_users(obj: Json) -> Json:
    if "subjects" not in obj:
        return obj
    subjects = [
        {"apiGroup": _GROUP, "kind": "User", "name": subject["name"]} for subject in obj["subjects"]
    ]
    return {**obj, "subjects": subjects}


def _without_helm(obj: Json) -> Json:
    metadata = {**obj["metadata"]}
    labels = metadata.pop("labels", {})
    kept = {name: value for name, value in labels.items() if not name.startswith(_OF_HELM)}
    return {**obj, "metadata": {**metadata, **({"labels": kept} if kept else {})}}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.chart.rbac", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; print if it is stale")
    check = parser.parse_args().check
    try:
        expected = texts()
    except HelmError as error:
        sys.exit(f"error: {error}")
    stale = [FOLDER / name for name, text in expected.items() if _read(FOLDER / name) != text]
    for path in stale:
        if check:
            print(f"stale: {path}; `make manifests` writes it again", file=sys.stderr)
        else:
            path.write_text(expected[path.name], encoding="utf-8")
    return 1 if check and stale else 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
