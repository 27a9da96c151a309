"""Reads what a suite names by URL, within the limits of suites: objects, and archives of cases."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from kudo.api.problems import InvalidInput
from kudo.packages.archive import read_archive
from kudo.packages.files import PackageFiles, PackageLimits
from kudo_harness.findings import Findings
from kudo_harness.host import HarnessError
from kudo_harness.suite import (
    DEFAULT_LIMITS,
    Document,
    Objects,
    Step,
    Suite,
    SuiteLimits,
    Text,
)
from kudo_harness.suite.documents import is_object, read_documents
from kudo_harness.suite.step_files import Role

Fetch = Callable[[str, int], Awaitable[bytes]]
"""See `Host.download`."""


@dataclass(slots=True)
class Downloads:
    """Reads URLs, each once.

    Attributes:
        download: Reads the file of a URL.
        findings: Where it is noted what cannot be read.
        limits: How much may be read.
        size: Bytes that were read.
    """

    download: Fetch
    findings: Findings
    limits: SuiteLimits = DEFAULT_LIMITS
    size: int = 0
    _read: dict[str, bytes | None] = field(default_factory=dict)

    async def content(self, url: Text, limit: int) -> bytes | None:
        """Return the file of a URL, None if it cannot be read."""
        # Also a failure is kept: each URL is told once, however many steps name it.
        if url.value not in self._read:
            self._read[url.value] = await self._fetch(url, limit)
        return self._read[url.value]

    async def documents(self, url: Text) -> tuple[Document, ...]:
        """Return the documents of a URL; none if it cannot be read."""
        content = await self.content(url, self.limits.file_size)
        if content is None:
            return ()
        return tuple(read_documents(url.value, content, self.findings, self.limits) or ())

    async def _fetch(self, url: Text, limit: int) -> bytes | None:
        try:
            content = await self.download(url.value, limit)
        except HarnessError as error:
            self.findings.error("NotDownloaded", str(error), url.place)
            return None
        # Counted over all of them: many files within their limits fill the memory as well.
        self.size += len(content)
        if self.size > self.limits.total_size:
            message = f"the URLs of the suite hold more than {self.limits.total_size} bytes"
            self.findings.error("SuiteTooLarge", message, url.place)
            return None
        return content


async def fetch_objects(suite: Suite, download: Fetch) -> Suite:
    """Return the suite with the objects of its steps' URLs.

    Raises:
        SuiteInvalid: with every URL that cannot be read.
    """
    downloads = Downloads(download, Findings())
    folders = []
    # One after the other: the limit is for all of them together.
    for folder in suite.test_dirs:
        cases = []
        for case in folder.cases:
            steps = [await _step(step, downloads) for step in case.steps]
            cases.append(replace(case, steps=tuple(steps)))
        folders.append(replace(folder, cases=tuple(cases)))
    # At the end, so that all URLs that cannot be read are told together.
    downloads.findings.check()
    return replace(suite, test_dirs=tuple(folders))


async def _step(step: Step, downloads: Downloads) -> Step:
    objects = step.objects
    for download in step.downloads:
        documents = await downloads.documents(download.url)
        objects = _with(
            objects,
            download.role,
            [document for document in documents if is_object(document, downloads.findings)],
        )
    return replace(step, objects=objects, downloads=())


def _with(objects: Objects, role: Role, documents: Iterable[Document]) -> Objects:
    more = tuple(documents)
    match role:
        case Role.APPLY:
            return replace(objects, apply=objects.apply + more)
        case Role.ASSERT:
            return replace(objects, asserts=objects.asserts + more)
        case Role.ERRORS:
            return replace(objects, errors=objects.errors + more)


_LIMITS: Final = PackageLimits(
    files=10_000, file_size=DEFAULT_LIMITS.file_size, total_size=DEFAULT_LIMITS.total_size
)
_SUFFIXES: Final = (".tar.gz", ".tgz", ".gz")


@dataclass(frozen=True, slots=True)
class UnpackedCases:
    """The cases of an archive.

    Attributes:
        url: Where it is from.
        folder: The folder of its cases.
    """

    url: Text
    folder: Path


async def fetch_cases(urls: tuple[Text, ...], folder: Path, download: Fetch) -> list[UnpackedCases]:
    """Read archives (`.tgz`) and unpack each into a folder of its own below `folder`.

    Only regular files are taken, with paths that stay in the archive, within the limits of suites.

    Raises:
        SuiteInvalid: with every archive that cannot be read.
    """
    findings = Findings()
    downloads = Downloads(download, findings)
    unpacked = []
    for number, url in enumerate(urls):
        content = await downloads.content(url, _LIMITS.total_size)
        if content is None:
            continue
        try:
            # Decompressing and writing may take a second; nothing else runs yet that could wait.
            files = await asyncio.to_thread(read_archive, content, url.value, _LIMITS)
            # By number: names of archives come from URLs, and may be equal.
            root = folder / str(number)
            await asyncio.to_thread(_write, files, root)
        except InvalidInput as error:
            findings.error("InvalidArchive", str(error), url.place)
        except OSError as error:
            message = f"{url.value} cannot be unpacked: {error.strerror or error}"
            findings.error("InvalidArchive", message, url.place)
        else:
            unpacked.append(UnpackedCases(url, _cases_in(root, url.value)))
    findings.check()
    return unpacked


def _write(files: PackageFiles, root: Path) -> None:
    root.mkdir(parents=True)
    for path, content in files.walk():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _cases_in(root: Path, url: str) -> Path:
    """Return the folder that has the name of the archive, as with kuttl; else the whole of it."""
    name = PurePosixPath(urlsplit(url).path).name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    inside = root / name
    return inside if name and inside.is_dir() else root
