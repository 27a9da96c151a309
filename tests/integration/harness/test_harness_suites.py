"""`kubectl kudo test` runs whole suites, on clusters that it starts itself."""

import asyncio
import os
import shutil
import sys
from pathlib import Path

from tests.support.cluster.commands import Done, environment, run

ROOT = Path(__file__).resolve().parents[3]
ORIGINAL = Path(__file__).parent / "suites" / "original"


async def kudo_test(folder: Path, *arguments: str) -> Done:
    """Run the command in a folder, with programs of this installation alone."""
    programs = Path(sys.executable).parent
    process = await asyncio.create_subprocess_exec(
        str(programs / "kubectl-kudo"),
        "test",
        *arguments,
        cwd=folder,
        env={**environment(), "PATH": f"{programs}:{os.environ['PATH']}"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    stdout, stderr = await process.communicate()
    return Done(process.returncode or 0, stdout.decode(), stderr.decode())


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


async def test_the_suites_of_all_examples_pass_on_a_cluster_of_their_own() -> None:
    before = files(ROOT / "examples")

    done = await kudo_test(ROOT, "examples/")

    assert done.code == 0, done.output
    assert "All 8 cases passed" in done.output
    assert files(ROOT / "examples") == before


async def test_the_first_case_of_a_new_package_passes(tmp_path: Path) -> None:
    """Uninstalling ends within 30 seconds: the garbage collector knows Instances from the start."""
    program = Path(sys.executable).with_name("kubectl-kudo")
    new = await run([str(program), "package", "new", "web", "--folder", str(tmp_path / "web")])
    assert new.code == 0, new.output

    done = await kudo_test(tmp_path, "./web", "--start-control-plane", "--start-kudo")

    assert done.code == 0, done.output
    assert "The case passed" in done.output


async def test_a_suite_of_kudo_0_19_passes_unchanged(tmp_path: Path) -> None:
    folder = shutil.copytree(ORIGINAL, tmp_path / "operators")
    before = files(folder)

    done = await kudo_test(folder)

    assert done.code == 0, done.output
    assert "All 16 cases passed" in done.output
    for line in ("startKIND", "kudobuilder/controller:v0.19.0", "kubectl kudo init"):
        assert line in done.output
    assert files(folder) == before
