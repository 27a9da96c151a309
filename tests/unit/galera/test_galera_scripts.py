"""Scripts of examples/galera that decide: which node bootstraps, whether a backup is usable."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from kudo.tasks.rendering import render_objects, variables

PACKAGE = Path(__file__).resolve().parents[3] / "examples" / "galera"
A, B = "2205aaf7-e770-11f1-abf6-13ca5a4b8746", "d944a5f8-e76d-11f1-9efc-6620646719ca"
CONTENT = b"a backup"
FOLDERS = ("SCRIPTS", "RECOVERY", "BACKUPS", "RUN", "CREDENTIALS")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the scripts of the package, and empty ones for what they read."""
    for name in FOLDERS:
        (tmp_path / name).mkdir()
    for name, text in scripts().items():
        path = tmp_path / "SCRIPTS" / name
        path.write_text(text)
        path.chmod(0o755)
    return tmp_path


def scripts() -> dict[str, str]:
    objects = to_objects(read_package(PACKAGE), "default")
    version = objects.operator_version
    values = variables(
        objects.instance, version, plan="deploy", phase="configuration", step="configuration"
    ).read()
    [found] = render_objects(("scripts.yaml",), version.spec.templates or {}, values)
    return dict(found.object["data"])


def run(folder: Path, script: str, *arguments: str, **values: str) -> tuple[int, str, str]:
    """Run a script as a pod would; return its exit code, what it printed, and why it refused."""
    said = folder / "termination-log"
    said.write_text("")
    places = {name: str(folder / name) for name in FOLDERS}
    done = subprocess.run(
        [str(folder / "SCRIPTS" / script), *arguments],
        env={**os.environ, **places, "TERMINATION_LOG": str(said), **values},
        capture_output=True,
        text=True,
    )
    last = (done.stderr.strip().splitlines() or [""])[-1]
    assert said.read_text() in ("", last), "the last line of the log is the reason"
    return done.returncode, done.stdout, said.read_text()


def found(folder: Path, *nodes: str) -> None:
    for number, node in enumerate(nodes):
        (folder / "RECOVERY" / f"node-{number}").write_text(f"{node} 1795459657112341279\n")


def backup(folder: Path, name: str, content: bytes, *, data_bytes: int = 1000) -> None:
    place = folder / "BACKUPS" / name
    place.mkdir()
    (place / "data.mbstream.gz").write_bytes(content)
    sum_of = hashlib.sha256(CONTENT).hexdigest()
    (place / "backup.env").write_text(
        f"SHA256={sum_of}\nBYTES={len(CONTENT)}\nDATA_BYTES={data_bytes}\n"
    )


@pytest.mark.parametrize("name", sorted(scripts()))
def test_each_script_is_understood_by_bash(folder: Path, name: str) -> None:
    subprocess.run(["bash", "-n", str(folder / "SCRIPTS" / name)], check=True)


@pytest.mark.parametrize(
    ("nodes", "elected"),
    [
        ((f"9 {A}", f"10 {A}", f"2 {A}"), "1"),
        ((f"9 {A}", f"10 {A}", f"10 {A}"), "1"),
        ((f"7 {A}", f"7 {A}", f"7 {A}"), "0"),
        (("-1 none", f"0 {A}", "-1 none"), "1"),
        (("-1 00000000-0000-0000-0000-000000000000", f"3 {A}", f"4 {A}"), "2"),
        (tuple(f"{number} {A}" for number in range(7)), "6"),
    ],
    ids=["numbers, not text", "the first of equal ones", "all equal", "one has data", "lost", "7"],
)
def test_the_node_that_reaches_furthest_bootstraps(
    folder: Path, nodes: tuple[str, ...], elected: str
) -> None:
    found(folder, *nodes)
    assert run(folder, "elect") == (0, f"{elected}\n", "")


def test_data_of_different_clusters_are_not_compared(folder: Path) -> None:
    found(folder, f"900 {A}", f"12 {B}", f"12 {B}")
    code, out, reason = run(folder, "elect")
    assert (code, out) == (1, "")
    assert f"node 0: {A}" in reason
    assert f"node 2: {B}" in reason


def test_no_node_bootstraps_without_data(folder: Path) -> None:
    found(folder, "-1 none", "-1 none", "-1 none")
    code, out, reason = run(folder, "elect")
    assert (code, out) == (1, "")
    assert reason.startswith("recover: no volume has data that can be used.")


def test_a_backup_as_it_was_made_is_accepted(folder: Path) -> None:
    backup(folder, "monday", CONTENT)
    assert run(folder, "verify", "monday", STORAGE_SIZE="1Ki")[::2] == (0, "")


def test_a_backup_that_does_not_exist_is_refused_with_those_that_do(folder: Path) -> None:
    backup(folder, "monday", CONTENT)
    backup(folder, "tuesday", CONTENT)
    code, _, reason = run(folder, "verify", "friday")
    assert (code, reason) == (1, "there is no backup 'friday'. There are: monday, tuesday.")


def test_a_damaged_backup_is_refused(folder: Path) -> None:
    backup(folder, "monday", CONTENT + b"x")
    code, _, reason = run(folder, "verify", "monday")
    assert code == 1
    assert reason.startswith("the backup 'monday' is damaged: its SHA-256 is ")


def test_a_backup_that_is_larger_than_a_volume_is_refused(folder: Path) -> None:
    backup(folder, "monday", CONTENT, data_bytes=2000)
    code, _, reason = run(folder, "verify", "monday", STORAGE_SIZE="1Ki")
    assert (code, reason) == (
        1,
        "the backup 'monday' has 2000 bytes of data: STORAGE_SIZE 1Ki is too small.",
    )
