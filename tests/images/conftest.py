"""The images as `make images` has built them, opened and unpacked."""

import os
from pathlib import Path

import pytest

from tools.images.archive import Archive
from tools.images.version import ROOT

IMAGES = ("webhook", "reconciler", "cli")
_DIRECTORY = Path(os.environ.get("KUDO_IMAGES") or ROOT / ".kudo" / "images")


@pytest.fixture(scope="session", params=IMAGES)
def archive(request: pytest.FixtureRequest) -> Archive:
    path = _DIRECTORY / f"kudo-{request.param}.tar"
    if not path.exists():
        pytest.fail(f"{path} is not there: run `make images`", pytrace=False)
    return Archive(path)


@pytest.fixture(scope="session")
def root(archive: Archive, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("root")
    # Others than root have to get through, as far as where the image begins.
    for parent in (directory, *directory.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o011)
    directory.chmod(0o755)
    archive.unpack(directory)
    return directory
