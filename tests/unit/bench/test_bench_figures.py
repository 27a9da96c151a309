"""Figures as a table and as JSON."""

import json
from pathlib import Path

from tests.bench.figures import Figure, table, write_json
from tests.bench.options import Options


def test_json_holds_the_figures_with_the_values_of_each_round(tmp_path: Path) -> None:
    figure = Figure("rate", ">= 1", "2 (1 to 3)", ok=True, values={"rate": (1.0, 2.0, 3.0)})
    write_json(tmp_path / "figures.json", [figure], {"rounds": 3})
    found = json.loads((tmp_path / "figures.json").read_text())
    assert found["options"] == {"rounds": 3}
    assert found["machine"]["cores"] >= 1
    [one] = found["figures"]
    assert one["name"] == "rate"
    assert one["ok"] is True
    assert one["values"] == {"rate": [1.0, 2.0, 3.0]}


def test_a_figure_that_misses_its_target_says_so_in_the_table() -> None:
    lines = list(table([Figure("rate", ">= 1", "0.5", ok=False)]))
    assert lines[-1].endswith("| NO |")


def test_other_numbers_follow_in_proportion_to_the_instances() -> None:
    assert Options(3).count(2000) == 2000
    assert Options(3, instances=50).count(2000) == 200
    assert Options(3, instances=1).count(20) == 1
