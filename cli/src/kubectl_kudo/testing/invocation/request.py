"""Reads the suite that a command line asks for."""

import asyncio
import atexit
import os
import re
import secrets
import shutil
import string
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import goyaml
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError
from kubectl_kudo.session.session import check_names
from kubectl_kudo.session.terminal import clean
from kubectl_kudo.testing.invocation.overrides import overridden, words
from kubectl_kudo.testing.running.reading.archives import UnpackedCases, fetch_cases
from kubeio.names import MAX_LABEL
from kudo_harness.findings import SuiteInvalid
from kudo_harness.suite import CaseFolder, Suite, SuiteRequest, Text, load_suite

_UNPACKED: Final[dict[tuple[str, ...], list[UnpackedCases]]] = {}
"""By URLs; `--watch` reads the suite again and again, also while an event loop runs."""
PREFIX: Final = "kudo-test"
_RANDOM: Final = 4
_CHARACTERS: Final = string.ascii_lowercase + string.digits
_MOST: Final = MAX_LABEL - len(PREFIX) - _RANDOM - 2
"""Characters of the name of a case that have room."""
_LABEL = re.compile(r"(?:[A-Za-z0-9](?:[-.A-Za-z0-9]{0,251}[A-Za-z0-9])?/)?[A-Za-z0-9_.-]{1,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_suite(args: Args, file: Path | None) -> Suite:
    """Read the suite, with the flags that are given in place of what its file says.

    Args:
        args: The flags.
        file: The suite file; None if there is none.

    Raises:
        UsageError: a flag has a value that it cannot have.
        CliError: something is wrong with the suite; the text lists all of it.
    """
    check_names(args)
    request = replace(_request(args), config=file)
    try:
        suite = with_archives(load_suite(request), request)
    except SuiteInvalid as error:
        raise suite_invalid(error) from None
    return replace(suite, options=overridden(suite.options, args))


def suite_invalid(error: SuiteInvalid) -> CliError:
    """Return the error that lists what is wrong with a suite."""
    # Names of files and texts in them are chosen by whoever wrote the suite.
    lines = [f"  {line}" for line in clean(str(error)).split("\n")]
    text = "\n".join(["nothing was run, because the suite is not valid:", *lines])
    return CliError(text, code=ExitCode.INVALID)


def _request(args: Args) -> SuiteRequest:
    return SuiteRequest(
        test_dirs=tuple(args.arguments),
        select=_pattern(args.test),
        namespace_of=CaseNamespaces(),
        namespace=args.namespace,
        variables=_variables(args.template_var),
        environment=dict(os.environ),
        labels=_labels(args.test_run_labels),
    )


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        problem = f'invalid argument "{text}" for "--test" flag: {error}'
        raise UsageError(problem) from None


def _variables(given: list[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not _VARIABLE.fullmatch(name):
            raise UsageError(f'--template-var "{text}" is not of the form name=value')
        try:
            found[name] = goyaml.load(value)
        except goyaml.YamlError as error:
            raise UsageError(f"--template-var {name}: not valid YAML: {error}") from None
    return found


def _labels(given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in words(given):
        name, equals, value = text.partition("=")
        if not equals or not _LABEL.fullmatch(name):
            raise UsageError(f'--test-run-labels "{text}" is not of the form name=value')
        found[name] = value
    return found


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


def _random() -> str:
    return "".join(secrets.choice(_CHARACTERS) for _ in range(_RANDOM))


@dataclass(slots=True)
class CaseNamespaces:
    """Names the namespaces of a run, each of them once.

    Attributes:
        random: Returns the last characters of a name.
    """

    random: Callable[[], str] = _random
    _chosen: set[str] = field(default_factory=set)

    def __call__(self, case: str) -> str:
        """Return a valid name for the namespace of a case."""
        part = re.sub("[^a-z0-9]+", "-", case.lower()).strip("-")[:_MOST].rstrip("-")
        while True:
            name = "-".join(filter(None, (PREFIX, part, self.random())))
            # Cases of two folders may have the same name.
            if name not in self._chosen:
                self._chosen.add(name)
                return name
