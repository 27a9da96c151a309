"""A suite in the style of KUDO 0.19, which asks for kind and for the original's images."""

import shutil
from pathlib import Path

import pytest

from tests.integration.harness.whole_suites import files, kudo_test

ORIGINAL = Path(__file__).parent / "suites" / "original"


@pytest.mark.long
async def test_a_suite_of_kudo_0_19_passes_unchanged(tmp_path: Path) -> None:
    folder = shutil.copytree(ORIGINAL, tmp_path / "operators")
    before = files(folder)

    done = await kudo_test(folder)

    assert done.code == 0, done.output
    assert "All 13 cases passed" in done.output
    for line in ("startKIND", "kudobuilder/controller:v0.19.0", "kubectl kudo init"):
        assert line in done.output
    assert files(folder) == before
