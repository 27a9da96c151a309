"""PodDisruptionBudgets."""

from typing import Final

from kudo.api import JsonObject
from kudo.removed_apis.shapes import mapping_at

_NO_POD: Final = {
    "key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match",
    "operator": "Exists",
}
"""How the API server itself shows in v1 a selector of v1beta1 that selects nothing."""


def upgrade_disruption_budget(budget: JsonObject) -> None:
    """Keep what an empty selector means: no pod in v1beta1, every pod in v1."""
    spec = mapping_at(budget, "spec")
    selector = mapping_at(spec, "selector")
    if spec is None or selector is None:
        return
    if all(part in ({}, [], None) for part in selector.values()):
        spec["selector"] = {"matchExpressions": [dict(_NO_POD)]}
