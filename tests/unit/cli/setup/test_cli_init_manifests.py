"""The manifests that the command line carries; `make lint` compares them with the chart."""

import pytest
import yaml

from tools.chart import manifests
from tools.chart.helm import Json


@pytest.mark.parametrize("name", ["built-in", "cert-manager"])
def test_nothing_of_helm_and_no_stand_in_is_left(name: str) -> None:
    text = (manifests.FOLDER / f"{name}.yaml").read_text()
    assert "Helm" not in text
    assert "helm.sh" not in text
    assert "place-of" not in text
    assert "kudo-system" not in text


def test_every_place_that_the_command_line_fills_in_is_marked() -> None:
    text = (manifests.FOLDER / "built-in.yaml").read_text()
    marks = {"NAMESPACE", "SERVICE_ACCOUNT", "WEBHOOK_IMAGE", "RECONCILER_IMAGE", "PULL_POLICY"}
    assert all(f"${{{mark}}}" in text for mark in marks)
    reconciler = _find(text, "Deployment", "kudo-reconciler")["spec"]["template"]["spec"]
    assert reconciler["serviceAccountName"] == "${SERVICE_ACCOUNT}"


def _find(text: str, kind: str, name: str) -> Json:
    found = [
        obj
        for obj in yaml.safe_load_all(text)
        if (obj["kind"], obj["metadata"]["name"]) == (kind, name)
    ]
    [obj] = found
    return dict(obj)
