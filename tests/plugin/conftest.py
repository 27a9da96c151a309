"""The single file of the CLI as `make cli` has written it, on a PATH without our environment."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kudo_cluster.programs import binaries
from tools.images.plugin import PROGRAM
from tools.images.version import ROOT

Kubectl = Callable[..., subprocess.CompletedProcess[str]]
DIST = ROOT / "dist"


@pytest.fixture(scope="session")
def single_file() -> Path:
    path = DIST / PROGRAM
    if not path.exists():
        pytest.fail(f"{path} is not there: run `make cli`", pytrace=False)
    return path


@pytest.fixture
def kubectl(single_file: Path, tmp_path: Path) -> Kubectl:
    """Return what runs kubectl as a new user of the machine, who has the file on the PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    shutil.copy(single_file, programs)
    # The Python that the file asks for, without the packages of our environment.
    (programs / f"python3.{sys.version_info.minor}").symlink_to(_bare_python())
    found = binaries.obtain().path("kubectl")
    path = os.pathsep.join([str(programs), str(found.parent), "/usr/bin", "/bin"])
    environ = {"PATH": path, "HOME": str(tmp_path / "home")}

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = ["kubectl", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)

    return run


def _bare_python() -> Path:
    return Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
