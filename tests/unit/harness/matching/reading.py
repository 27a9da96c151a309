"""Reads asserts and objects of tests."""

import goyaml
from kudo_harness.findings import Findings
from kudo_harness.matching import Comparison, Difference
from kudo_harness.suite import DEFAULT_LIMITS, Document, ListMatching
from kudo_harness.suite.documents import read_documents


def document(text: str) -> Document:
    """Return the first document of a text, with its lines."""
    documents = read_documents("00-assert.yaml", text, Findings(), DEFAULT_LIMITS)
    assert documents
    return documents[0]


def differences(expected: str, actual: str, lists: ListMatching) -> list[Difference]:
    return Comparison(document(expected), lists).differences(goyaml.load(actual))
