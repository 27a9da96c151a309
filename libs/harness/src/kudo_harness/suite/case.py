"""Reads a test case: a folder whose files are steps."""

import fnmatch
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kudo.api.problems import shown_name
from kudo_harness.findings import Findings, Place
from kudo_harness.suite.documents import (
    Document,
    TemplateValues,
    is_object,
    read_documents,
    render_template,
)
from kudo_harness.suite.fields import Reading
from kudo_harness.suite.files import Download, FileReader, References
from kudo_harness.suite.kinds import ASSERT, FILE, STEP, SUITE, kind_of, read_assert, read_step
from kudo_harness.suite.kinds import read_file_options as read_file
from kudo_harness.suite.model import AssertOptions, Command, StepOptions
from kudo_harness.suite.step_files import (
    FileOptions,
    Role,
    StepFile,
    is_template,
    is_yaml,
    looks_like_a_step,
    step_file,
    step_folder,
)


@dataclass(frozen=True, slots=True)
class Objects:
    """Objects of a step, by what is done with them, in the order of files and documents."""

    apply: tuple[Document, ...] = ()
    asserts: tuple[Document, ...] = ()
    errors: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a case.

    Attributes:
        index: Its number.
        name: Name of its TestStep, else of the first file that is applied, else of its folder,
            else empty.
        objects: What is applied, asserted, and must not match.
        options: Its TestStep; None if there is none.
        assert_options: Its TestAssert; None if there is none.
        downloads: URLs that hold more objects.
        place: Its first file.
    """

    index: int
    name: str
    objects: Objects
    options: StepOptions | None
    assert_options: AssertOptions | None
    downloads: tuple[Download, ...]
    place: Place

    @property
    def title(self) -> str:
        """The step as logs and reports name it, such as `2-upgrade`."""
        return f"{self.index}-{self.name}"

    @property
    def commands(self) -> tuple[Command, ...]:
        """All commands, those of the assert included."""
        own = self.options.commands if self.options else ()
        return own + (self.assert_options.commands if self.assert_options else ())


@dataclass(frozen=True, slots=True)
class Case:
    """A test case.

    Attributes:
        name: Name of its folder.
        folder: Its folder.
        steps: By their numbers.
        namespace: Where it runs.
    """

    name: str
    folder: Path
    steps: tuple[Step, ...]
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class CaseOptions:
    """What is known about a run before cases are read.

    Attributes:
        values: What templates can refer to.
        environment: Variables in the paths of steps.
        labels: Labels of the run, which TestFiles select.
        ignore: Patterns of names that belong to no step.
        commands: Commands of the suite; files that they name are used.
    """

    values: TemplateValues
    environment: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ("README*",)
    commands: tuple[Command, ...] = ()


@dataclass(frozen=True, slots=True)
class _CaseFile:
    """A file of a step."""

    path: Path
    name: StepFile
    folder: str = ""
    """Name of the step's folder without its number; empty for a file of the case itself."""


@dataclass(slots=True)
class _Parts:
    """What the files of a step hold."""

    documents: dict[Role, list[Document]] = field(default_factory=lambda: defaultdict(list))
    options: StepOptions | None = None
    assert_options: AssertOptions | None = None
    first_applied: str = ""


def read_case(folder: Path, options: CaseOptions, files: FileReader) -> Case:
    """Return the case in a folder; what is wrong is noted in the findings of `files`."""
    return _CaseReader(folder, options, files).read()


@dataclass(slots=True)
class _CaseReader:
    folder: Path
    options: CaseOptions
    files: FileReader
    references: References = field(init=False)
    unused: dict[str, Path] = field(default_factory=dict)
    """Files that belong to no step, by name."""

    def __post_init__(self) -> None:
        self.references = References(self.folder, self.options.environment, self.files)

    @property
    def findings(self) -> Findings:
        return self.files.findings

    def read(self) -> Case:
        files: dict[int, list[_CaseFile]] = defaultdict(list)
        for entry in self.files.entries(self.folder, Place(str(self.folder))):
            if self._ignored(entry.name):
                continue
            path = self.folder / entry.name
            name = step_folder(entry.name) if entry.is_dir() else step_file(entry.name)
            if name is None or name.index is None:
                self.unused[entry.name] = path
            elif entry.is_dir():
                files[name.index] += self._in_folder(path, name)
            else:
                files[name.index].append(_CaseFile(path, name))
        # By number: of names, `10-` would come before `2-`.
        steps = tuple(self._step(index, files[index]) for index in sorted(files))
        self._note_unused(steps)
        return Case(self.folder.name, self.folder, steps, self.options.values.namespace)

    # With case on every platform.
    def _ignored(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.options.ignore)

    def _in_folder(self, folder: Path, step: StepFile) -> Iterable[_CaseFile]:
        for entry in self.files.entries(folder, Place(str(folder))):
            path = folder / entry.name
            name = None if entry.is_dir() else step_file(entry.name)
            if self._ignored(entry.name):
                continue
            if name is None:
                what = "a folder" if entry.is_dir() else "a file"
                message = (
                    f"{what} that belongs to no step; in the folder of a step, names are "
                    "name.yaml, assert.yaml or errors.yaml: rename it, move it out, or add it to "
                    "ignoreFiles"
                )
                self.findings.error("NoStep", message, Place(str(path)))
                continue
            # A number in the name orders the files of the folder; the step is that of the folder.
            yield _CaseFile(path, name, step.name)

    def _step(self, index: int, files: list[_CaseFile]) -> Step:
        parts = _Parts()
        for file in files:
            self._read(file, parts)
        folder = next((file.folder for file in files if file.folder), "")
        options, downloads = parts.options, []
        if options is not None:
            # What a TestStep names comes after what the files of the step hold.
            named = (options.apply, options.asserts, options.errors)
            for role, texts in zip(Role, named, strict=True):
                documents = (each for text in texts for each in self.references.documents(text))
                parts.documents[role] += [each for each in documents if self._is_object(each, role)]
                downloads += [Download(url, role) for url in self.references.urls(texts)]
        return Step(
            index=index,
            name=(options.name if options else "") or parts.first_applied or folder,
            objects=Objects(*(tuple(parts.documents[role]) for role in Role)),
            options=options,
            assert_options=parts.assert_options,
            downloads=tuple(downloads),
            place=Place(str(files[0].path)) if files else Place(str(self.folder)),
        )

    def _read(self, file: _CaseFile, parts: _Parts) -> None:
        documents = self._documents(file)
        if documents is None:
            return
        kinds = [(kind_of(document, self.findings), document) for document in documents]
        # Before anything else is noted: a file of other runs may be wrong for this one.
        if not self._selected(kinds):
            return
        if file.name.role is Role.APPLY:
            parts.first_applied = parts.first_applied or file.name.name
        # What a template renders may be empty for these values.
        if not documents and not file.name.template:
            message = "the file is empty; remove it, or write what it is for"
            self.findings.warning("EmptyFile", message, Place(str(file.path)))
        for kind, document in kinds:
            self._take(kind, document, file.name.role, parts)

    def _documents(self, file: _CaseFile) -> list[Document] | None:
        shown = str(file.path)
        text = self.files.text(file.path, Place(shown))
        if text is None:
            return None
        if not file.name.template:
            return read_documents(shown, text, self.findings, self.files.limits)
        rendered = render_template(shown, text, self.options.values, self.findings)
        if rendered is None:
            return None
        limits = self.files.limits
        return read_documents(shown, rendered.text, self.findings, limits, rendered.source_line)

    def _selected(self, kinds: list[tuple[str, Document]]) -> bool:
        """Return whether the file belongs to this run, as its TestFile says."""
        options: FileOptions | None = None
        for kind, document in kinds:
            if kind != FILE:
                continue
            if options is not None:
                message = f"a file has one TestFile, and there is one in line {options.place.line}"
                self.findings.error("TwoTestFiles", message, document.place())
            options = read_file(self._reading(document))
        return options is None or options.selects(self.options.labels)

    def _take(self, kind: str, document: Document, role: Role, parts: _Parts) -> None:
        match kind:
            case "":
                if self._is_object(document, role):
                    parts.documents[role].append(document)
            case _ if kind == STEP:
                self._take_step(document, role, parts)
            case _ if kind == ASSERT:
                self._take_assert(document, role, parts)
            case _ if kind == SUITE:
                message = "a TestSuite belongs into a file of its own, which --config names"
                self.findings.error("WrongFile", message, document.place("kind"))

    def _take_step(self, document: Document, role: Role, parts: _Parts) -> None:
        if role is not Role.APPLY:
            message = "a TestStep belongs into a file that is applied, such as NN-name.yaml"
            self.findings.error("WrongFile", message, document.place("kind"))
            return
        if parts.options is not None:
            message = (
                f"a step has one TestStep, and there is one in {parts.options.place}; "
                "put both into one, or give this file another number"
            )
            self.findings.error("TwoTestSteps", message, document.place("kind"))
            return
        parts.options = read_step(self._reading(document))

    def _take_assert(self, document: Document, role: Role, parts: _Parts) -> None:
        if role is not Role.ASSERT:
            message = "a TestAssert belongs into a file NN-assert.yaml"
            self.findings.error("WrongFile", message, document.place("kind"))
            return
        if parts.assert_options is not None:
            message = (
                f"replaces the TestAssert in {parts.assert_options.place}, because a step has "
                "one; put both into one"
            )
            self.findings.warning("TwoTestAsserts", message, document.place("kind"))
        # As in kuttl the last one wins, so this is no error.
        parts.assert_options = read_assert(self._reading(document))

    def _is_object(self, document: Document, role: Role) -> bool:
        """Return whether a document can be an object of a cluster; if not, note what it lacks."""
        if kind := kind_of(document, self.findings):
            message = f"{kind} works only in files whose names begin with the number of a step"
            self.findings.error("WrongFile", message, document.place("kind"))
            return False
        if not is_object(document, self.findings):
            return False
        metadata = document.value.get("metadata")
        fields = metadata if isinstance(metadata, dict) else {}
        named = (fields.get(name) for name in ("name", "generateName"))
        if role is Role.APPLY and not any(isinstance(name, str) and name for name in named):
            message = "an object that is applied needs a metadata.name"
            self.findings.error("NoObject", message, document.place("metadata"))
            return False
        return True

    def _reading(self, document: Document) -> Reading:
        return Reading(document, self.findings, self.files.limits)

    def _note_unused(self, steps: tuple[Step, ...]) -> None:
        """Note files that belong to no step, unless something of the case names them."""
        # A script may read such a file, and tells its name alone: a name in a text is enough.
        commands = [
            *self.options.commands,
            *(command for step in steps for command in step.commands),
        ]
        texts = [f"{command.command}\n{command.script}" for command in commands]
        for name, path in self.unused.items():
            if name in self.references.used or any(name in text for text in texts):
                continue
            if looks_like_a_step(name) and not path.is_dir():
                self.findings.error("NoStep", _mend(name), Place(str(path)))
            elif is_yaml(name):
                message = (
                    "belongs to no step and nothing names it; name it NN-name.yaml, or add it "
                    "to ignoreFiles"
                )
                self.findings.warning("NoStep", message, Place(str(path)))


def _mend(name: str) -> str:
    if name.endswith(".yml"):
        advice = f"rename it to {shown_name(name.removesuffix('.yml'))}.yaml"
    elif not name[0].isdigit():
        advice = "begin its name with the number of the step, such as 00-"
    elif is_template(name):
        advice = "a name is NN-name.gotmpl.yaml, without dots and underscores before the suffix"
    else:
        advice = "a name is NN-name.yaml, without dots before the suffix"
    return f"belongs to no step, although its name looks like it; {advice}"
