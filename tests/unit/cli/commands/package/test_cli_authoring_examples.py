"""The examples in the help of the commands for authors can be run as they are."""

import shlex
from pathlib import Path

import pytest

from tests.support.examples import examples
from tests.unit.cli.conftest import Cli

PREPARED = {
    # What examples name beside the new package.
    "package add task extras": ["package add parameter EXTRAS --folder operator --default true"],
    "package add plan backup": [
        "package add task dump --folder operator --kind Dummy",
        "package add task upload --folder operator --kind Dummy",
    ],
    "package add plan restore": [
        "package add task stop --folder operator --kind Dummy",
        "package add task db --folder operator --kind Dummy",
    ],
    "package render ./web --plan update": [
        "package add plan update --folder web --step servers=app",
    ],
}


@pytest.mark.parametrize("line", [line.partition(" > ")[0] for line in examples("package")])
def test_an_example_runs(
    run: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    (tmp_path / "work" / "archives").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    folder = "operator" if line.startswith("package add") else "web"
    if not line.startswith("package new"):
        assert run("package", "new", "web", "--folder", folder).code == 0
    Path("values.yaml").write_text("image: busybox\n")
    Path("values.schema.json").write_text('{"properties": {"port": {"type": "integer"}}}')
    for start, before in PREPARED.items():
        if line.startswith(start):
            assert [run(*shlex.split(one)).err[:5] for one in before] == ["added"] * len(before)
    ran = run(*shlex.split(line))
    assert (ran.code, "Error" in ran.err) == (0, False), ran.err
