"""`kubectl kudo test --watch`: no save is lost, at whatever moment a file is saved."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from kubectl_kudo.commands.test import session as suite_run
from kubectl_kudo.commands.test.invocation import Prepared, prepare
from kubectl_kudo.commands.test.session import _Session
from kubectl_kudo.commands.test.test import COMMAND
from kubectl_kudo.session.arguments import Args
from kudo_harness import watching

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
BROKEN = "a: ["
_SECONDS = 20.0


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of two cases, `one` and `two`; it is looked at often."""
    for case in ("one", "two"):
        save(tmp_path / "e2e", case)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(watching, "_EVERY", 0.01)
    return tmp_path / "e2e"


def save(folder: Path, case: str, text: str = OBJECT) -> None:
    (folder / case).mkdir(parents=True, exist_ok=True)
    (folder / case / "00-a.yaml").write_text(text)


def session() -> _Session:
    return _Session(COMMAND.parser().parse(["e2e", "--watch"]))


def cases(read: Prepared) -> list[str]:
    return [case.name for folder in read.suite.test_dirs for case in folder.cases]


async def next_cases(of: _Session) -> list[str]:
    """Return the cases that run next."""
    async with asyncio.timeout(_SECONDS):
        await of._until_changed()
    return cases(of.prepared)


def on_text(monkeypatch: pytest.MonkeyPatch, start: str, act: Callable[[], None]) -> None:
    """Act when a text that starts so is printed for the first time."""
    done = False

    def talk(text: str) -> None:
        nonlocal done
        if text.startswith(start) and not done:
            done = True
            act()

    monkeypatch.setattr(suite_run, "talk", talk)


def after_read(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> None:
    """Act once the suite has been read so many times, before anything else is done."""
    count = 0

    def read(args: Args) -> Prepared:
        nonlocal count
        count += 1
        try:
            return prepare(args)
        finally:
            if count == number:
                act()

    monkeypatch.setattr(suite_run, "prepare", read)


async def test_what_is_saved_while_an_error_is_told_is_read(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = session()
    save(work, "one", BROKEN)
    on_text(monkeypatch, "Error: ", lambda: save(work, "one"))
    assert await next_cases(watch) == ["one"]


@pytest.mark.parametrize("number", [1, 2])
async def test_what_is_saved_while_an_error_is_found_is_read(
    work: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    watch = session()
    save(work, "one", BROKEN)
    after_read(monkeypatch, number, lambda: save(work, "one", OBJECT + "# again\n"))
    if number == 2:
        on_text(monkeypatch, "Error: ", lambda: save(work, "one"))
    assert await next_cases(watch) == ["one"]
    if number == 2:
        assert await next_cases(watch) == ["one"]


async def test_a_change_beside_an_error_is_not_forgotten(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = session()
    save(work, "one", BROKEN)
    save(work, "two", OBJECT + "# new\n")
    on_text(monkeypatch, "Error: ", lambda: save(work, "one"))
    assert await next_cases(watch) == ["one", "two"]


@pytest.mark.parametrize("number", [1, 2])
async def test_what_is_saved_while_the_suite_is_read_first_is_run_or_read_again(
    work: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    text = OBJECT + "data: {x: '1'}\n"
    after_read(monkeypatch, number, lambda: save(work, "two", text))
    watch = session()
    if number == 2:
        assert await next_cases(watch) == ["two"]
    (folder,) = watch.prepared.suite.test_dirs
    (document,) = folder.cases[-1].steps[0].objects.apply
    assert document.value["data"] == {"x": "1"}


@pytest.mark.parametrize("number", [1, 2])
async def test_a_case_that_changes_while_it_is_found_runs_again(
    work: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    watch = session()
    save(work, "three")
    after_read(monkeypatch, number, lambda: save(work, "two", OBJECT + "# new\n"))
    ran = await next_cases(watch)
    assert "three" in ran
    assert "two" in (ran if number == 1 else await next_cases(watch))


async def test_a_case_of_which_the_first_state_is_broken_runs_once_it_is_mended(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = session()
    save(work, "three", BROKEN)
    on_text(monkeypatch, "Error: ", lambda: save(work, "three"))
    assert await next_cases(watch) == ["three"]


async def test_nothing_runs_again_while_nothing_changes(work: Path) -> None:
    watch = session()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await watch._until_changed()
    assert cases(watch.prepared) == ["one", "two"]
