"""Files, folders and URLs that a TestStep names in `apply`, `assert` and `error`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kudo.api.problems import shown
from kudo_harness.suite.documents import Document
from kudo_harness.suite.files import FileReader
from kudo_harness.suite.model import Text
from kudo_harness.suite.step_files import Role, is_template
from kudo_harness.suite.words import expand

_URL: Final = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Download:
    """A URL whose objects are read when the case runs.

    Attributes:
        url: The URL, variables replaced.
        role: What is done with the objects.
    """

    url: Text
    role: Role


def is_url(text: str) -> bool:
    return bool(_URL.match(text))


@dataclass(slots=True)
class References:
    """Resolves what the steps of a case name.

    Attributes:
        folder: Folder of the case, from which paths lead.
        environment: Variables in paths.
        files: Reads files.
        used: Names in the folder of the case that are used.
    """

    folder: Path
    environment: Mapping[str, str]
    files: FileReader
    used: set[str] = field(default_factory=set)

    def urls(self, texts: Iterable[Text]) -> Iterator[Text]:
        """Yield the URLs of a list."""
        for text in texts:
            expanded = expand(text.value, self.environment)
            if is_url(expanded):
                yield Text(expanded, text.place)

    def documents(self, text: Text) -> Iterator[Document]:
        """Yield the documents of a file, or of the `.yaml` files of a folder; none of a URL."""
        expanded = expand(text.value, self.environment)
        if is_url(expanded) or not expanded:
            return
        path = Path(expanded)
        if not path.is_absolute() and path.parts:
            # A name in the folder of the case that no step has is no mistake then.
            self.used.add(path.parts[0])
        yield from self._in(self.folder / path, text)

    def _in(self, path: Path, text: Text) -> Iterator[Document]:
        if not path.exists():
            message = f"no such file or folder: {shown(str(path), 200)}"
            self.files.findings.error("NoFile", message, text.place)
        elif path.is_dir():
            for entry in self.files.entries(path, text.place):
                if entry.name.endswith(".yaml") and not entry.is_dir():
                    yield from self._file(path / entry.name, text)
        else:
            yield from self._file(path, text)

    def _file(self, path: Path, text: Text) -> Iterator[Document]:
        if is_template(path.name):
            message = (
                f"{path.name} is a template, and templates work only as files of a step: give it "
                "the number of the step"
            )
            self.files.findings.error("NoTemplate", message, text.place)
            return
        yield from self.files.documents(path, text.place)
