"""What the programs of a local cluster log is shown as it comes."""

import asyncio
from pathlib import Path

from kudo_harness.target import attached_logs


class Shown:
    """The lines that were shown, and an event for each."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._come: asyncio.Queue[str] = asyncio.Queue()

    def show(self, line: str) -> None:
        self.lines.append(line)
        self._come.put_nowait(line)

    async def next(self) -> str:
        async with asyncio.timeout(60):
            return await self._come.get()


async def test_lines_are_shown_as_they_come(tmp_path: Path) -> None:
    shown = Shown()
    etcd = tmp_path / "logs" / "etcd.log"
    etcd.parent.mkdir()
    etcd.write_text("before\nhalf")
    async with attached_logs((etcd.parent, tmp_path / "kudo"), shown.show):
        assert await shown.next() == "etcd | before"
        (tmp_path / "kudo").mkdir()
        (tmp_path / "kudo" / "webhook.log").write_text("ready\n")
        assert await shown.next() == "webhook | ready"
        with etcd.open("a") as file:
            file.write(" a line\nlast\n")
    assert shown.lines[2:] == ["etcd | half a line", "etcd | last"]


async def test_a_line_without_end_is_shown_in_parts(tmp_path: Path) -> None:
    shown = Shown()
    (tmp_path / "etcd.log").write_bytes(b"x" * 700_000 + b"\n\xff\n")
    async with attached_logs((tmp_path,), shown.show):
        while await shown.next() != "etcd | \ufffd":
            pass
    assert [len(line) - len("etcd | ") for line in shown.lines] == [262_144, 262_144, 175_712, 1]


async def test_a_log_that_is_deleted_ends_nothing(tmp_path: Path) -> None:
    shown = Shown()
    log = tmp_path / "etcd.log"
    log.write_text("one\n")
    async with attached_logs((tmp_path,), shown.show):
        assert await shown.next() == "etcd | one"
        log.unlink()
    assert shown.lines == ["etcd | one"]
