"""Reads what a suite names by URL: objects of steps and manifests, within the limits of suites."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from kubectl_kudo.repositories.downloads.downloader import Downloader
from kubectl_kudo.session.errors import CliError
from kudo_harness.findings import Findings
from kudo_harness.suite import (
    DEFAULT_LIMITS,
    Case,
    CaseFolder,
    Document,
    Objects,
    Step,
    Suite,
    SuiteLimits,
    Text,
)
from kudo_harness.suite.documents import read_documents
from kudo_harness.suite.names import Role

SECONDS: Final = 60.0
"""For each attempt to read a URL."""


@dataclass(slots=True)
class Downloads:
    """Reads URLs, each once.

    Attributes:
        findings: Where it is noted what cannot be read.
        limits: How much may be read.
        size: Bytes that were read.
    """

    findings: Findings
    limits: SuiteLimits = DEFAULT_LIMITS
    size: int = 0
    _read: dict[str, bytes | None] = field(default_factory=dict)

    async def content(self, url: Text, limit: int) -> bytes | None:
        """Return the file of a URL, None if it cannot be read."""
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
            found = await Downloader(timeout=SECONDS).get(url.value, limit=limit)
        except CliError as error:
            self.findings.error("NotDownloaded", str(error), url.place)
            return None
        content = found.content or b""
        self.size += len(content)
        if self.size > self.limits.total_size:
            message = f"the URLs of the suite hold more than {self.limits.total_size} bytes"
            self.findings.error("SuiteTooLarge", message, url.place)
            return None
        return content


async def fetch_objects(suite: Suite) -> Suite:
    """Return the suite with the objects of its steps' URLs.

    Raises:
        SuiteInvalid: with every URL that cannot be read.
    """
    downloads = Downloads(Findings())
    folders = [await _folder(folder, downloads) for folder in suite.test_dirs]
    downloads.findings.check()
    return replace(suite, test_dirs=tuple(folders))


async def _folder(folder: CaseFolder, downloads: Downloads) -> CaseFolder:
    return replace(folder, cases=tuple([await _case(case, downloads) for case in folder.cases]))


async def _case(case: Case, downloads: Downloads) -> Case:
    if not any(step.downloads for step in case.steps):
        return case
    return replace(case, steps=tuple([await _step(step, downloads) for step in case.steps]))


async def _step(step: Step, downloads: Downloads) -> Step:
    objects = step.objects
    for download in step.downloads:
        found = await downloads.documents(download.url)
        objects = _with(
            objects, download.role, [one for one in found if usable(one, downloads.findings)]
        )
    return replace(step, objects=objects, downloads=())


def _with(objects: Objects, role: Role, found: Iterable[Document]) -> Objects:
    more = tuple(found)
    match role:
        case Role.APPLY:
            return replace(objects, apply=objects.apply + more)
        case Role.ASSERT:
            return replace(objects, asserts=objects.asserts + more)
        case Role.ERRORS:
            return replace(objects, errors=objects.errors + more)


def usable(document: Document, findings: Findings) -> bool:
    """Return whether a document is an object; if not, note what it lacks."""
    for name in ("apiVersion", "kind"):
        value = document.value.get(name)
        if not isinstance(value, str) or not value:
            message = f"the object has no {name}"
            findings.error("NoObject", message, document.place(name))
            return False
    if not isinstance(document.value.get("metadata") or {}, dict):
        message = "metadata must be a mapping"
        findings.error("NoObject", message, document.place("metadata"))
        return False
    return True
