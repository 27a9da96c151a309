"""`repo serve`, as a process of its own."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.kudo.packages.package_tree import operator, pack, write

Served = tuple[str, "subprocess.Popen[str]"]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    folder = tmp_path / "dist"
    folder.mkdir()
    pack(write(tmp_path / "t", operator("t")), folder / "t.tgz")
    (tmp_path / "secret.tgz").write_bytes(b"secret")
    argv = ["-m", "kubectl_kudo", "repo", "serve", str(folder), "--address", "127.0.0.1:0"]
    with subprocess.Popen(
        [sys.executable, *argv], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1], process
        finally:
            process.kill()


def test_a_served_folder_is_a_repository_until_ctrl_c(
    served: Served, kudo: Cli, api: FakeApi
) -> None:
    url, process = served
    assert kudo("repo", "add", "own", url).code == 0
    assert kudo("install", "t", "--repo", "own").code == 0
    assert "t-0.1.0" in api.names("operatorversions")
    for path in ("../secret.tgz", "%2e%2e/secret.tgz", "none.tgz", ""):
        assert "404 Not Found" in kudo("install", f"{url}/{path}").err
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        ([], "expecting exactly one argument - directory of the packages to serve"),
        (["/none"], 'destination "/none" is not a proper directory'),
        ([".", "--address", "8080"], 'invalid argument "8080" for "--address" flag: not host:port'),
    ],
)
def test_what_cannot_be_served_is_told(run: Cli, argv: list[str], text: str) -> None:
    ran = run("repo", "serve", *argv)
    assert ran.code in {2, 255}
    assert text in ran.err
