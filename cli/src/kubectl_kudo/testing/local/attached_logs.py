"""Shows what the programs of a local cluster write into their logs, as it comes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_POLL: Final = 0.5
_MOST: Final = 256 * 1024
"""Bytes of one log that are read at a time; a longer line is cut there."""


@asynccontextmanager
async def attached_logs(
    folders: Sequence[Path], show: Callable[[str], None]
) -> AsyncIterator[None]:
    """Show each line that logs gain during the block, and those that they have.

    Args:
        folders: Folders of `NAME.log`; they and the logs may come later.
        show: Is given `NAME | line`.
    """
    logs = _Logs(folders, show)
    following = asyncio.create_task(logs.follow(), name="logs of the local cluster")
    try:
        yield
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


@dataclass(slots=True)
class _Logs:
    folders: Sequence[Path]
    show: Callable[[str], None]
    offsets: dict[Path, int] = field(default_factory=dict)

    async def follow(self) -> None:
        """Show new lines until this is cancelled; then those that came last."""
        try:
            while True:
                if not self._show_new():
                    await asyncio.sleep(_POLL)
                # A log that grows faster than it is shown must not hold the loop.
                await asyncio.sleep(0)
        finally:
            self._show_new()

    def _show_new(self) -> bool:
        """Show the next lines of each log; return whether one may have more."""
        paths = sorted(path for folder in self.folders for path in folder.glob("*.log"))
        more = [self._show_next(path) for path in paths]
        return True in more

    def _show_next(self, path: Path) -> bool:
        offset = self.offsets.get(path, 0)
        try:
            with path.open("rb") as file:
                file.seek(offset)
                read = file.read(_MOST)
        except OSError:
            return False  # The cluster deletes its files when it ends.
        whole = read.rfind(b"\n") + 1
        if len(read) == _MOST:
            whole = whole or _MOST
        self.offsets[path] = offset + whole
        for line in read[:whole].decode(errors="replace").splitlines():
            self.show(f"{path.stem} | {line}")
        return len(read) == _MOST
