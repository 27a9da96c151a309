"""Reads what is applied before the cases: `crdDir` and `manifestDirs`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubectl_kudo.testing.running.objects.applying import items_of
from kubectl_kudo.testing.running.objects.cluster import is_crd
from kubectl_kudo.testing.running.reading.downloads import Downloads, usable
from kudo_harness.findings import Findings
from kudo_harness.suite import Document, Suite, Text
from kudo_harness.suite.documents import read_documents
from kudo_harness.suite.files import FileReader
from kudo_harness.suite.references import is_url

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_DEEPEST: Final = 8
"""Levels of folders below one of `manifestDirs`; links may lead back to it."""


@dataclass(frozen=True, slots=True)
class SetupObjects:
    """The objects that are applied before the cases, in order.

    Attributes:
        crds: Of `crdDir`.
        manifests: Of `manifestDirs`.
    """

    crds: tuple[Document, ...] = ()
    manifests: tuple[Document, ...] = ()


async def setup_objects(suite: Suite) -> SetupObjects:
    """Return the objects of `crdDir` and `manifestDirs`.

    Raises:
        SuiteInvalid: with everything that cannot be read.
    """
    findings = Findings()
    reader = _Reader(FileReader(findings), Downloads(findings))
    options = suite.options
    crds = await reader.read(options.crd_dir) if options.crd_dir else ()
    manifests = [one for text in options.manifest_dirs for one in await reader.read(text)]
    findings.check()
    # Other objects in the folder of CRDs are left out, as by kuttl.
    return SetupObjects(tuple(one for one in crds if is_crd(one.value)), tuple(manifests))


@dataclass(frozen=True, slots=True)
class _Reader:
    files: FileReader
    downloads: Downloads

    async def read(self, text: Text) -> tuple[Document, ...]:
        """Return the objects of a folder, with those below it, of a file, or of a URL."""
        if is_url(text.value):
            found = await self.downloads.documents(text)
        else:
            found = tuple(self._in(Path(text.value), text))
        usable_ones = [one for one in found if usable(one, self.downloads.findings)]
        return tuple(item for one in usable_ones for item in items_of(one))

    def _in(self, path: Path, text: Text, depth: int = 0) -> Iterator[Document]:
        if not path.is_dir():
            yield from self._file(path, text)
            return
        for entry in self.files.entries(path, text.place):
            if entry.is_dir():
                if depth < _DEEPEST:
                    yield from self._in(path / entry.name, text, depth + 1)
            elif entry.name.endswith(_SUFFIXES):
                yield from self._file(path / entry.name, text)

    def _file(self, path: Path, text: Text) -> Iterator[Document]:
        content = self.files.text(path, text.place)
        if content is not None:
            limits = self.files.limits
            yield from read_documents(str(path), content, self.files.findings, limits) or ()
