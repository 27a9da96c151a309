"""Reads archives of cases that a suite names by URL, and unpacks them into a folder."""

import asyncio
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from kubectl_kudo.testing.running.reading.downloads import Downloads
from kudo.api.problems import InvalidInput
from kudo.packages.archive import read_archive
from kudo.packages.files import PackageFiles, PackageLimits
from kudo_harness.findings import Findings
from kudo_harness.suite import DEFAULT_LIMITS, Text

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


async def fetch_cases(urls: tuple[Text, ...], folder: Path) -> list[UnpackedCases]:
    """Read archives (`.tgz`) and unpack each into a folder of its own below `folder`.

    Only regular files are taken, with paths that stay in the archive, within the limits of suites.

    Raises:
        SuiteInvalid: with every archive that cannot be read.
    """
    findings = Findings()
    downloads = Downloads(findings)
    found = []
    for number, url in enumerate(urls):
        content = await downloads.content(url, _LIMITS.total_size)
        if content is None:
            continue
        try:
            # Decompressing and writing may take a second; nothing else runs yet that could wait.
            files = await asyncio.to_thread(read_archive, content, url.value, _LIMITS)
            root = folder / str(number)
            await asyncio.to_thread(_write, files, root)
        except InvalidInput as error:
            findings.error("InvalidArchive", str(error), url.place)
        except OSError as error:
            message = f"{url.value} cannot be unpacked: {error.strerror or error}"
            findings.error("InvalidArchive", message, url.place)
        else:
            found.append(UnpackedCases(url, _cases_in(root, url.value)))
    findings.check()
    return found


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
