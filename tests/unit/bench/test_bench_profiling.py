"""Profiles: which command is started, and what stands in the table."""

import subprocess
import sys
from pathlib import Path

from tests.bench.measure.profiling import Profiles, table


def test_without_a_directory_a_command_stays_as_it_is() -> None:
    assert Profiles().command("x", ["/bin/kudo-webhook", "--a"]) == ["/bin/kudo-webhook", "--a"]


def test_a_service_is_started_as_the_module_of_its_program_under_the_profiler(
    tmp_path: Path,
) -> None:
    found = Profiles(tmp_path).command("deploys", ["/bin/kudo-reconciler", "--port=1"])
    assert found[:4] == [sys.executable, "-m", "cProfile", "-o"]
    assert found[4:] == [str(tmp_path / "deploys.prof"), "-m", "kudo_reconciler", "--port=1"]


def test_what_is_no_service_is_not_profiled(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.bench.constant"]
    assert Profiles(tmp_path).command("constant", command) == command


def test_the_service_ends_with_a_profile_and_a_table_of_it(tmp_path: Path) -> None:
    command = Profiles(tmp_path).command("help", ["kudo-reconciler", "--help"])
    subprocess.run(command, check=True, capture_output=True)
    Profiles(tmp_path).write_tables()
    text = (tmp_path / "help.txt").read_text()
    assert "Ordered by: internal time" in text
    assert "Ordered by: cumulative time" in text
    assert " services/reconciler/src/kudo_reconciler/" in text


def test_this_process_is_profiled_for_a_block(tmp_path: Path) -> None:
    with Profiles(tmp_path).of_this_process("block"):
        sorted(range(10))
    assert "{built-in method builtins.sorted}" in table(tmp_path / "block.prof")
