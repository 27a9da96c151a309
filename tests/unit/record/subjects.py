"""What is recorded, one module a subject, and the files in which it is."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from tests.unit.record.commands import subject as commands
from tests.unit.record.lists import subject as lists
from tests.unit.record.runs import subject as runs

FOLDER: Final = Path(__file__).resolve().parents[2] / "record" / "files"
Files = Iterator[tuple[str, str]]
SUBJECTS: Final[Mapping[str, Callable[[], Files]]] = {
    "commands": commands.files,
    "lists": lists.files,
    "runs": runs.files,
}


@cache
def written(subject: str) -> Mapping[str, str]:
    """Return the text of each file of a subject by its name, as the code of today writes it."""
    return dict(SUBJECTS[subject]())


def on_disk(subject: str) -> list[str]:
    """Return the names of the files that there are of a subject."""
    found = (FOLDER / subject).rglob("*.txt")
    return sorted(path.relative_to(FOLDER).as_posix() for path in found)
