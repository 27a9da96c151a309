"""How the stages are put together; whether kwok understands them is for the cluster's tests."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kudo_cluster.node import simulated

_ADAPTED = ("node-heartbeat-with-lease", "node-initialize", "pod-ready", "pod-complete")


def _stage(name: str) -> dict[str, Any]:
    condition = {"key": ".status.phase", "operator": "In", "values": ["Pending"]}
    return {
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {"selector": {"matchExpressions": [condition]}, "next": {"delete": False}},
    }


def _stock(directory: Path, *names: str) -> Path:
    directory.mkdir()
    for name in names:
        (directory / f"{name}.yaml").write_text(yaml.safe_dump(_stage(name)))
    return directory


def test_other_stock_stages_stay_as_they_are() -> None:
    assert simulated.adapt(_stage("pod-delete")) == _stage("pod-delete")


@pytest.mark.parametrize(
    ("name", "annotation"), [("pod-ready", "ready-delay"), ("pod-complete", "run-for")]
)
def test_an_annotation_delays_a_stock_stage(name: str, annotation: str) -> None:
    adapted = simulated.adapt(_stage(name))
    expression = adapted["spec"]["delay"]["durationFrom"]["expressionFrom"]
    assert expression == f'.metadata.annotations["kwok.kudo.dev/{annotation}"]'
    assert adapted["spec"]["delay"]["durationMilliseconds"] == 0
    assert adapted["spec"]["next"] == {"delete": False}


def test_adapting_adds_conditions_and_leaves_the_original_alone() -> None:
    original = _stage("pod-ready")
    expressions = simulated.adapt(original)["spec"]["selector"]["matchExpressions"]
    assert expressions[0] == original["spec"]["selector"]["matchExpressions"][0]
    assert any("never-pulls" in expression["key"] for expression in expressions[1:])
    assert original == _stage("pod-ready")


def test_one_file_holds_the_stock_stages_and_ours(tmp_path: Path) -> None:
    stock = _stock(tmp_path / "stock", *_ADAPTED, "pod-delete")
    simulated.write_stages(stock, tmp_path / "all.yaml")
    documents = list(yaml.safe_load_all((tmp_path / "all.yaml").read_text()))
    names = [document["metadata"]["name"] for document in documents]
    assert set(names) == {
        "node-heartbeat-with-lease",
        "node-initialize",
        "node-not-ready",
        "pod-complete",
        "pod-complete-with-message",
        "pod-crash",
        "pod-delete",
        "pod-fail",
        "pod-never-pulls",
        "pod-ready",
    }
    assert len(names) == len(set(names))


def test_a_stock_stage_that_is_missing_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lacks the stages pod-complete"):
        simulated.write_stages(_stock(tmp_path / "stock", *_ADAPTED[:-1]), tmp_path / "all.yaml")


@pytest.mark.parametrize("name", ["node-initialize", "node-heartbeat-with-lease"])
def test_a_node_that_shall_not_be_ready_is_left_alone_by_stock_stages(name: str) -> None:
    adapted = simulated.adapt(_stage(name))["spec"]
    [_, mark] = adapted["selector"]["matchExpressions"]
    assert mark == {
        "key": '.metadata.annotations["kwok.kudo.dev/not-ready"]',
        "operator": "DoesNotExist",
    }
    assert "delay" not in adapted
