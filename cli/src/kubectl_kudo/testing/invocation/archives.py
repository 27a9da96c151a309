"""The cases in archives that a suite names by URL: read once, however often the suite is read."""

import asyncio
import atexit
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from kubectl_kudo.testing.running.reading.archives import UnpackedCases, fetch_cases
from kudo_harness.suite import CaseFolder, Suite, SuiteRequest, Text, load_suite

_UNPACKED: Final[dict[tuple[str, ...], list[UnpackedCases]]] = {}
"""By URLs; `--watch` reads the suite again and again, also while an event loop runs."""


def with_archives(suite: Suite, request: SuiteRequest) -> Suite:
    """Return the suite with the cases of its archives.

    Raises:
        SuiteInvalid: an archive cannot be read, or something is wrong with its cases.
    """
    if not suite.downloads:
        return suite
    unpacked = _unpacked(suite.downloads)
    dirs = tuple(str(one.folder) for one in unpacked)
    loaded = load_suite(replace(request, test_dirs=dirs))
    # Reports and logs name the URL; the folder is gone after the run.
    names = {str(one.folder): one.url.value for one in unpacked}
    folders = tuple(_named(folder, names) for folder in loaded.test_dirs)
    return replace(
        suite,
        test_dirs=suite.test_dirs + folders,
        downloads=(),
        warnings=suite.warnings + loaded.warnings,
    )


def _unpacked(urls: tuple[Text, ...]) -> list[UnpackedCases]:
    key = tuple(url.value for url in urls)
    if key not in _UNPACKED:
        folder = Path(tempfile.mkdtemp(prefix="kudo-test-cases-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _UNPACKED[key] = asyncio.run(fetch_cases(urls, folder))
    return _UNPACKED[key]


def _named(folder: CaseFolder, names: dict[str, str]) -> CaseFolder:
    return replace(folder, path=names.get(folder.path, folder.path))
