"""What the chart renders, as it was looked at; and its sources, which stand elsewhere, too."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.golden import GOLDEN, differences, path_of, recorded
from tests.chart.value_sets import VALUE_SETS
from tools.chart.helm import CHART, Json, helm, render

ROOT = CHART.parents[1]
_ANEW = "if the change is meant: python -m tests.chart.golden"


@pytest.mark.parametrize("name", VALUE_SETS)
def test_a_set_of_values_renders_as_it_did(name: str) -> None:
    assert recorded(name) == path_of(name).read_text(encoding="utf-8"), _ANEW


def test_every_golden_render_has_its_set_of_values() -> None:
    assert set(GOLDEN.iterdir()) == {path_of(name) for name in VALUE_SETS}


def test_differences_show_objects_that_are_gone_new_and_changed() -> None:
    kept, gone, changed, new = (
        f"---\nkind: Secret\nmetadata:\n  name: {name}\n" for name in ("a", "b", "c", "d")
    )
    text = differences(kept + gone + changed, kept + changed + "type: Opaque\n" + new)

    assert text.splitlines() == [
        "=== without Secret b",
        "=== changed Secret c",
        "@@ -3 +3,2 @@",
        "   name: c",
        "+type: Opaque",
        "=== with Secret d",
        "+kind: Secret",
        "+metadata:",
        "+  name: d",
    ]


@pytest.mark.parametrize("name", VALUE_SETS)
def test_helm_finds_nothing_to_complain_about(name: str, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(VALUE_SETS[name]), encoding="utf-8")

    helm("lint", "--strict", "--quiet", str(CHART), f"--values={values}")


def test_the_crds_stay_when_the_release_goes() -> None:
    crds = _of_kind(render(), "CustomResourceDefinition")

    assert {crd["metadata"]["name"] for crd in crds} == {
        "instances.kudo.dev",
        "inventories.kudo.dev",
        "operators.kudo.dev",
        "operatorversions.kudo.dev",
    }
    for crd in crds:
        assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_the_crds_are_installed_as_they_are_generated() -> None:
    crds = {crd["metadata"]["name"]: crd for crd in _of_kind(render(), "CustomResourceDefinition")}
    for path in (ROOT / "crds").iterdir():
        generated = yaml.safe_load(path.read_text(encoding="utf-8"))

        assert crds[generated["metadata"]["name"]]["spec"] == generated["spec"]


def test_the_crds_can_be_left_out() -> None:
    assert not _of_kind(render({"crds": {"install": False}}), "CustomResourceDefinition")


def test_cert_manager_is_given_what_the_manifests_give_it() -> None:
    manifests = yaml.safe_load_all((ROOT / "certs" / "cert-manager.yaml").read_text())
    objects = [
        obj for obj in render(VALUE_SETS["cert-manager"]) if "cert-manager" in obj["apiVersion"]
    ]

    assert _by_name(objects) == _by_name(manifests)


def test_the_chart_has_the_version_of_the_packages() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "libs" / "kudo" / "pyproject.toml").read_text())["project"]

    assert chart["appVersion"] == chart["version"] == project["version"]


def _of_kind(objects: list[Json], kind: str) -> list[Json]:
    return [obj for obj in objects if obj["kind"] == kind]


def _by_name(objects: Any) -> dict[tuple[str, str], Json]:
    return {(obj["kind"], obj["metadata"]["name"]): obj["spec"] for obj in objects}
