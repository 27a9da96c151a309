"""A test that hangs ends: with its name, and where its threads, tasks and processes are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SETTINGS = """\
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
timeout = 1
timeout_func_only = true
"""
HANGING = '''\
"""Tests that hang, each in its way, and one at the end that does not."""

import asyncio
import subprocess
import threading
import time

import pytest


async def waits_for_nobody() -> None:
    await asyncio.Event().wait()


@pytest.mark.asyncio(loop_scope="session")
async def test_task() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(waits_for_nobody(), name="the waiting one")


def test_thread() -> None:
    lock = threading.Lock()
    lock.acquire()
    thread = threading.Thread(target=lock.acquire, name="the locked one", daemon=True)
    thread.start()
    thread.join()


def test_child() -> None:
    subprocess.run(["sleep", "3600"])


async def test_failure_that_is_caught() -> None:
    while True:
        try:
            time.sleep(3600)
        except BaseException:
            pass
        else:
            break
        await asyncio.sleep(3600)


@pytest.fixture
def slow() -> None:
    time.sleep(1.5)


def test_slow_fixture(slow: None) -> None:
    pass


@pytest.mark.asyncio(loop_scope="session")
async def test_the_loop_is_free_again() -> None:
    assert asyncio.all_tasks() == {asyncio.current_task()}
'''
STUCK = """\
import signal
import time

from tests.support.hanging import plugin

plugin._GRACE = 0.5


def test_stuck() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(3600)


def test_next() -> None:
    pass
"""


def run(folder: Path, text: str) -> str:
    """Run tests in a worker; return what is printed."""
    (folder / "pytest.ini").write_text(SETTINGS)
    (folder / "test_it.py").write_text(text)
    options = ("-p", "tests.support.hanging.plugin", "-p", "no:cacheprovider", "-n1", "-v")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert ran.returncode == 1, ran.stdout
    return ran.stdout


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run(tmp_path_factory.mktemp("hanging"), HANGING)


@pytest.fixture
def printed_of_stuck(tmp_path: Path) -> str:
    return run(tmp_path, STUCK)


def about(printed: str, name: str) -> str:
    """Return what is printed of a test that failed."""
    start = printed.index(f"test_it.py::{name} hangs: it was not over after 1 s")
    return printed[start:].partition("\n____")[0]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "test_task",
            ("task the waiting one:", "in waits_for_nobody", "in test_task", "awaits a future"),
        ),
        ("test_thread", ("thread the locked one:", "thread MainThread:", "in test_thread")),
        ("test_child", ("in test_child", ": sleep 3600", "S (sleeping), waits for ")),
        ("test_failure_that_is_caught", ("in test_failure_that_is_caught",)),
    ],
)
def test_the_failure_says_where_everything_is(
    printed: str, name: str, parts: tuple[str, ...]
) -> None:
    text = about(printed, name)
    assert [part for part in parts if part not in text] == []
    assert "_pytest" not in text


def test_the_worker_goes_on_with_the_next_test(printed: str) -> None:
    assert "4 failed, 2 passed" in printed
    assert "crashed" not in printed


def test_a_test_that_no_signal_reaches_is_named_and_its_stack_is_printed(
    printed_of_stuck: str,
) -> None:
    assert "crashed while running 'test_it.py::test_stuck'" in printed_of_stuck
    assert "in test_stuck" in printed_of_stuck
    assert "1 failed, 1 passed" in printed_of_stuck
