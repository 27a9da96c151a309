"""The kinds that CRDs of a suite define: those of `crdDir` and `manifestDirs`, and applied ones."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from kubectl_kudo.testing.checks.known_kinds import Kind
from kudo_harness.suite import Document, SuiteOptions, Text
from kudo_harness.suite.documents import read_documents
from kudo_harness.suite.files import FileReader
from kudo_harness.suite.references import is_url

_CRD: Final = "CustomResourceDefinition"
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_DEEPEST: Final = 8
"""Levels of folders below one of `manifestDirs`; links may lead back to it."""


def defined_by(document: Document) -> Iterator[Kind]:
    """Yield apiVersion and kind of what a CRD defines; nothing for other objects."""
    spec = document.value.get("spec")
    if document.value.get("kind") != _CRD or not isinstance(spec, dict):
        return
    names, versions = spec.get("names"), spec.get("versions")
    kind = names.get("kind") if isinstance(names, dict) else None
    if not isinstance(versions, list):
        # Of apiextensions.k8s.io/v1beta1.
        versions = [{"name": spec.get("version")}]
    for version in versions:
        if isinstance(version, dict) and version.get("served", True) and isinstance(kind, str):
            yield f"{spec.get('group')}/{version.get('name')}", kind


def crds_of(options: SuiteOptions, files: FileReader) -> Iterator[Document]:
    """Yield the CRDs of `crdDir`; other documents there, such as of kustomize, are left out.

    What cannot be read is noted in the findings of `files`.
    """
    for document in _read((options.crd_dir,), files):
        if document.value.get("kind") == _CRD:
            yield document


def manifests_of(options: SuiteOptions, files: FileReader) -> Iterator[Document]:
    """Yield the objects of `manifestDirs`; URLs, and what is no object, are left out.

    What cannot be read is noted in the findings of `files`.
    """
    for document in _read(options.manifest_dirs, files):
        if all(isinstance(document.value.get(key), str) for key in ("apiVersion", "kind")):
            yield document


def _read(texts: Iterable[Text | None], files: FileReader) -> Iterator[Document]:
    for text in texts:
        if text is not None and text.value and not is_url(text.value):
            yield from _in(Path(text.value), text, files)


def _in(path: Path, text: Text, files: FileReader, depth: int = 0) -> Iterator[Document]:
    if not path.is_dir():
        yield from _file(path, text, files)
        return
    for entry in files.entries(path, text.place):
        if entry.is_dir() and depth < _DEEPEST:
            yield from _in(path / entry.name, text, files, depth + 1)
        elif entry.name.endswith(_SUFFIXES):
            yield from _file(path / entry.name, text, files)


def _file(path: Path, text: Text, files: FileReader) -> Iterator[Document]:
    content = files.text(path, text.place)
    if content is not None:
        yield from read_documents(str(path), content, files.findings, files.limits) or ()
