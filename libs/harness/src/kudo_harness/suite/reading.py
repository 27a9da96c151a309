"""Reads a whole suite: the suite file and all cases, before anything runs."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kudo_harness.findings import Finding, Findings, Place
from kudo_harness.suite.case import Case, CaseOptions, read_case
from kudo_harness.suite.documents import (
    DEFAULT_LIMITS,
    Document,
    SuiteLimits,
    TemplateValues,
    read_documents,
)
from kudo_harness.suite.fields import Reading
from kudo_harness.suite.files import FileReader, case_directories, is_step, is_url
from kudo_harness.suite.kinds import SUITE, kind_of, read_suite
from kudo_harness.suite.model import SuiteOptions, Text

_COMMAND_LINE = "command line"
_NO_CASES = (
    "no test directories provided, name folders of cases as arguments or in testDirs of the "
    "suite file"
)


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """Which suite to read, and what is known about its run.

    Attributes:
        config: The suite file; None if there is none.
        test_dirs: Folders of cases; they replace those of the suite file.
        select: Only cases whose name has a match are read; None reads all.
        namespace_of: The namespace of a case, by its name; templates refer to it.
        namespace: Namespace of all cases; empty is as the suite file says.
        variables: `.Vars` of templates.
        environment: Variables in paths.
        labels: Labels of the run.
        limits: How much the suite may hold.
    """

    config: Path | None = None
    test_dirs: tuple[str, ...] = ()
    select: re.Pattern[str] | None = None
    namespace_of: Callable[[str], str] = str
    namespace: str = ""
    variables: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    limits: SuiteLimits = DEFAULT_LIMITS


@dataclass(frozen=True, slots=True)
class CaseFolder:
    """A folder of cases.

    Attributes:
        path: As it is given; of a folder `tests` below what is given, its path.
        cases: Those that are selected, by name.
    """

    path: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite that can run.

    Attributes:
        options: The suite file; its defaults if there is none.
        test_dirs: The folders of cases.
        downloads: URLs of archives of cases, which are read when the suite runs.
        warnings: What was found and does not keep it from running.
    """

    options: SuiteOptions
    test_dirs: tuple[CaseFolder, ...]
    downloads: tuple[Text, ...]
    warnings: tuple[Finding, ...]

    @property
    def cases(self) -> Iterator[Case]:
        """Yield the cases of all folders."""
        for folder in self.test_dirs:
            yield from folder.cases


def load_suite(request: SuiteRequest) -> Suite:
    """Read a suite.

    Raises:
        SuiteInvalid: with everything that is wrong in any of its files.
    """
    findings = Findings()
    files = FileReader(findings, request.limits)
    options = _read_options(request, files)
    given = options.test_dirs
    if request.test_dirs:
        given = tuple(Text(path, Place(_COMMAND_LINE)) for path in request.test_dirs)
    if not given:
        findings.error("NoCases", _NO_CASES, Place(str(request.config or _COMMAND_LINE)))
    cases = _Cases(request, options, files)
    archives = tuple(text for text in given if is_url(text.value))
    folders = [text for text in given if not is_url(text.value)]
    test_dirs = tuple(read for text in folders for read in cases.read(text))
    # An archive is read later, and a folder that cannot be read is an error already.
    if cases.count == 0 and not (archives or findings.failed):
        where = ", ".join(text.value for text in given)
        if request.select is not None:
            message = f"no case in {where} has a name that matches {request.select.pattern}"
        else:
            message = f"no case in {where}; a case is a folder of files such as 00-install.yaml"
        findings.error("NoCases", message, given[0].place)
    return Suite(options, test_dirs, archives, findings.check())


def _read_options(request: SuiteRequest, files: FileReader) -> SuiteOptions:
    """Return the options of the suite file, or the defaults if there is none, or nothing in it."""
    findings = files.findings
    shown = str(request.config or _COMMAND_LINE)
    suites: list[Document] = []
    text = files.text(request.config, Place(shown)) if request.config is not None else None
    if text is not None:
        documents = read_documents(shown, text, findings, request.limits)
        for document in documents or ():
            if kind_of(document, findings) == SUITE:
                suites.append(document)
                continue
            message = (
                "a suite file has only a TestSuite; objects belong into folders of manifestDirs"
            )
            findings.error("WrongFile", message, document.place("kind"))
        if documents is not None and not suites:
            message = "no TestSuite in the file; begin it with apiVersion: kuttl.dev/v1beta1"
            findings.error("NoSuite", message, Place(shown))
    for second in suites[1:]:
        message = "a suite file has one TestSuite; make two files of it"
        findings.error("TwoSuites", message, second.place("kind"))
    document = suites[0] if suites else Document({}, shown)
    return read_suite(Reading(document, findings, files.limits))


@dataclass(slots=True)
class _Cases:
    request: SuiteRequest
    options: SuiteOptions
    files: FileReader
    count: int = 0
    """Cases that were read."""

    def read(self, text: Text) -> Iterator[CaseFolder]:
        """Yield the folders of cases that a directory is, or has below it."""
        given = Path(text.value)
        for path in case_directories(given, text.place, self.files):
            folders = list(self._folders(path, text.place))
            shown = text.value if path == given else str(path)
            yield CaseFolder(shown, tuple(self._case(folder) for folder in folders))

    def _folders(self, path: Path, place: Place) -> Iterator[Path]:
        """Yield the folders of the cases that are selected."""
        steps, select = False, self.request.select
        for entry in self.files.entries(path, place):
            if not entry.is_dir():
                steps = steps or is_step(entry)
            elif select is None or select.search(entry.name):
                self.count += 1
                if self.count > self.request.limits.cases:
                    message = f"more than {self.request.limits.cases} cases; run a part of them"
                    self.files.findings.error("SuiteTooLarge", message, place)
                    return
                yield path / entry.name
        if steps:
            message = f"{path} is a case itself, since it holds steps; name the folder above it"
            self.files.findings.error("CaseAsDirectory", message, place)

    def _case(self, folder: Path) -> Case:
        request = self.request
        fixed = request.namespace or self.options.namespace
        namespace = fixed or request.namespace_of(folder.name)
        options = CaseOptions(
            values=TemplateValues(namespace, request.variables),
            environment={**request.environment, "NAMESPACE": namespace},
            labels=request.labels,
            ignore=self.options.ignore_files,
            commands=self.options.commands,
        )
        case = read_case(folder, options, self.files)
        if not case.steps:
            message = "no step: the files of a case have names such as 00-install.yaml"
            self.files.findings.warning("NoSteps", message, Place(str(folder)))
        return case
