"""Bounds of parameters on the command line: where they are shown, and what breaks one."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import PARAMETERS, Cli
from tests.unit.cli.fake_api import FakeApi

BOUNDED = PARAMETERS.replace('default: "2"}', 'default: "2", minimum: 1, maximum: 4}').replace(
    "{name: TEA}", "{name: TEA, description: The sort., pattern: '^[a-z]+$', default: mint}"
)
TEXT = "it is above the maximum 4; set 4 or less"


@pytest.fixture
def bounded(package: Path) -> Path:
    (package / "params.yaml").write_text(BOUNDED)
    return package


@pytest.fixture
def tea(kudo: Cli, api: FakeApi, bounded: Path) -> FakeApi:
    """Return a server with an idle Instance of the package."""
    ran = kudo("install", str(bounded), "--instance", "tea", "-p", "CUPS=3")
    assert (ran.code, ran.err) == (0, "")
    return api


def test_a_list_of_parameters_has_bounds_where_there_are_any(run: Cli, bounded: Path) -> None:
    out = run("package", "list", "parameters", str(bounded)).out
    assert [line.split("\t")[4].strip() for line in out.splitlines()] == [
        "Bounds",
        "1 to 4",
        "",
        "matches ^[a-z]+$",
    ]
    (bounded / "params.yaml").write_text(PARAMETERS)
    assert "Bounds" not in run("package", "list", "parameters", str(bounded)).out


def test_data_has_them_as_the_package_does(run: Cli, bounded: Path) -> None:
    listed = run("package", "list", "parameters", str(bounded), "-o", "json").out
    cups, size, tea = json.loads(listed)
    assert (cups["minimum"], cups["maximum"], tea["pattern"]) == (1, 4, "^[a-z]+$")
    assert not size.keys() & {"minimum", "pattern", "items"}


def test_the_reference_has_them(run: Cli, bounded: Path) -> None:
    out = run("package", "docs", str(bounded)).out
    assert "| `CUPS` |  | integer; 1 to 4 | `2` |" in out
    assert "| string; matches `^[a-z]+$` |" in out


def test_describe_shows_them_beside_the_values(kudo: Cli, tea: FakeApi) -> None:
    out = kudo("describe", "instance", "tea").out
    lines = [line.split() for line in out.partition("Parameters:\n")[2].splitlines()[:4]]
    assert lines == [
        ["NAME", "VALUE", "SOURCE", "BOUNDS"],
        ["CUPS", "3", "set", "1", "to", "4"],
        ["SIZE", "<none>", "none"],
        ["TEA", "mint", "default", "matches", "^[a-z]+$"],
    ]
    data = json.loads(kudo("describe", "instance", "tea", "-o", "json").out)
    assert data["parameters"][0]["maximum"] == 4


def test_completion_offers_the_integers_of_a_small_range(run: Cli, bounded: Path) -> None:
    install = ("__complete", "install", str(bounded), "-p")
    values = run(*install, "CUPS=").out.splitlines()[:-1]
    assert values == [f"CUPS={number}" for number in (1, 2, 3, 4)]
    names = run(*install, "").out.splitlines()
    assert "CUPS=\t(1 to 4)" in names
    assert "TEA=\tThe sort. (matches ^[a-z]+$)" in names
    for most in ("4000", str(2**64 - 1)):
        (bounded / "params.yaml").write_text(BOUNDED.replace("maximum: 4", f"maximum: {most}"))
        ran = run(*install, "CUPS=")
        assert ("CUPS=1" in ran.out, ran.code) == (False, 0)


def test_an_installation_with_a_value_outside_is_not_begun(
    kudo: Cli, api: FakeApi, bounded: Path
) -> None:
    ran = kudo("install", str(bounded), "-p", "CUPS=5", "-p", "TEA=A")
    assert ran.code == 4
    assert f'parameter "CUPS" has an invalid value "5": {TEXT}' in ran.err
    assert 'invalid value "A": it does not match the pattern ^[a-z]+$' in ran.err
    assert "POST" not in {method for method, *_ in api.requests}


def test_a_dry_run_says_what_the_webhook_would(kudo: Cli, tea: FakeApi) -> None:
    before = len(tea.requests)
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=5", "--dry-run=client")
    assert ran.code == 4
    assert TEXT in ran.err
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=4", "--dry-run=client")
    assert (ran.code, ran.err) == (0, "")
    assert {method for method, *_ in tea.requests[before:]} == {"GET"}


def test_a_parameter_file_is_checked_in_the_same_way(
    kudo: Cli, tea: FakeApi, tmp_path: Path
) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("CUPS: 5\n")
    ran = kudo("update", "--instance", "tea", "-P", str(file), "--dry-run=client")
    assert (ran.code, TEXT in ran.err) == (4, True)


def test_a_package_whose_bounds_cannot_hold_is_not_installed(
    kudo: Cli, api: FakeApi, bounded: Path
) -> None:
    (bounded / "params.yaml").write_text(BOUNDED.replace("minimum: 1", "minimum: 5"))
    ran = kudo("install", str(bounded))
    assert ran.code != 0
    assert "no value is within minimum 5 and maximum 4" in ran.err
    assert "POST" not in {method for method, *_ in api.requests}
