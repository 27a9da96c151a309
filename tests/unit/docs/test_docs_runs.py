"""docs/runs.md names every field of runs, and its table of states is what kstatus computes."""

import re
from typing import Any

import pytest

from goyaml import load
from kudo.api import (
    ApiModel,
    Cause,
    Instance,
    OperatorVersion,
    PlanExecution,
    RunRecord,
)
from tests.unit.docs.pages import ROOT, section
from tests.unit.kudo.plans.runs.test_conditions_by_state import STATES, kstatus

PAGE = (ROOT / "docs" / "runs.md").read_text()
_YAML = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SETTLED = {"plan_name", "uid", "status"}
"""Fields that are older than this page."""

SHOWN = {
    "suspended, no plan": "suspended while idle",
    "suspended, and a plan is held up": "suspended, and a run is held up",
    "a run is paused": "deploy is paused",
    "a run timed out": "timed out",
    "a retry of `deploy`, `update` or `upgrade` runs": "a retry runs",
    "a retry of another plan runs": "another plan is the first to run",
    "a retry failed": "a retry has failed",
    "a retry is COMPLETE": "complete after a failure",
}
"""Rows of the page, and the states that they are computed from."""


def rows() -> dict[str, list[str]]:
    """Return Ready, Reconciling, Stalled and kstatus by the first column of the table."""
    lines = section(PAGE, "What each state looks like").splitlines()
    _, _, *table = [line for line in lines if line.startswith("|")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    return {name: rest for name, *rest in cells}


def test_every_state_of_the_page_has_a_row_here() -> None:
    assert rows().keys() == SHOWN.keys()


@pytest.mark.parametrize("name", SHOWN)
def test_a_state_looks_as_the_page_says(name: str) -> None:
    *columns, computed = rows()[name]
    instance = STATES[SHOWN[name]].stored()
    conditions = {one.type: one for one in instance.status.conditions or ()}
    for kind, text in zip(("Ready", "Reconciling", "Stalled"), columns, strict=True):
        one = conditions.get(kind)
        assert (f"{one.status}, `{one.reason}`" if one else "") in text
        assert (one is None) is (not text)
    assert computed == kstatus(instance.to_wire())


@pytest.mark.parametrize("model", [PlanExecution, RunRecord, Cause])
def test_every_field_is_on_the_page(model: type[ApiModel]) -> None:
    names = [
        field.alias or name
        for name, field in model.model_fields.items()
        if model is not PlanExecution or name not in _SETTLED
    ]
    assert [name for name in names if not re.search(rf"`(\w+\.)*{name}`", PAGE)] == []


def examples() -> list[Any]:
    return [load(text) for text in _YAML.findall(PAGE)]


def test_no_field_of_the_examples_is_unknown() -> None:
    found = [one["spec"] for one in examples() if "spec" in one]
    specs = [spec for spec in found if "ignoreDifferences" not in spec]
    of_operators = [one for one in examples() if "plans" in one]
    assert (len(specs), len(of_operators)) == (3, 1)
    for spec in specs:
        assert Instance.from_wire({"metadata": {}, "spec": spec}).spec.to_wire() == spec
    for spec in of_operators:
        assert OperatorVersion.from_wire({"metadata": {}, "spec": spec}).spec.to_wire() == spec
