"""Suites of others: whatever a file holds, reading it ends with a suite or with findings."""

from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kudo_harness.findings import Findings, SuiteInvalid
from kudo_harness.suite import DEFAULT_LIMITS, Document, SuiteRequest, load_suite
from kudo_harness.suite.documents import read_documents
from kudo_harness.suite.fields import Reading
from kudo_harness.suite.kinds import (
    KINDS,
    VERSIONS,
    kind_of,
    read_assert,
    read_file_options,
    read_step,
    read_suite,
)

NAMES = st.sampled_from(
    [
        "metadata",
        "name",
        "commands",
        "command",
        "script",
        "delete",
        "apply",
        "timeout",
        "collectors",
        "type",
        "resourceRefs",
        "ref",
        "assertAll",
        "celExpr",
        "testRunSelector",
        "matchExpressions",
        "matchLabels",
        "operator",
        "values",
        "parallel",
        "suppress",
        "ignoreFiles",
        "reportFormat",
        "x",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS | st.sampled_from(["In", "pod", "command", "json", "${x}", "'"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=25,
)


@pytest.mark.parametrize("read", [read_suite, read_step, read_assert, read_file_options])
@given(st.dictionaries(NAMES, VALUES, max_size=8))
def test_fields_of_any_type_are_read_or_noted(read: object, fields: dict[str, object]) -> None:
    assert callable(read)
    findings = Findings()
    read(Reading(Document(fields, "f.yaml"), findings, DEFAULT_LIMITS))
    assert all(len(finding.message) < 2_000 for finding in findings.kept)


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_gives_documents_or_findings(text: str | bytes) -> None:
    findings = Findings()
    for document in read_documents("f.yaml", text, findings, DEFAULT_LIMITS) or ():
        kind_of(document, findings)
        assert document.place("a", 0, "b").line > 0


@given(
    st.lists(st.dictionaries(NAMES, VALUES, max_size=5), max_size=3),
    st.sampled_from(KINDS),
    st.sampled_from(VERSIONS),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_documents_give_a_suite_or_findings(
    tmp_path: Path, documents: list[dict[str, object]], kind: str, version: str
) -> None:
    kinds = [{"apiVersion": version, "kind": kind, **fields} for fields in documents]
    text = yaml.safe_dump_all(kinds, allow_unicode=True)
    for name in ("00-a.yaml", "00-assert.yaml", "01-b.gotmpl.yaml"):
        path = tmp_path / "e2e" / "case" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    with suppress(SuiteInvalid):
        load_suite(SuiteRequest(test_dirs=(str(tmp_path / "e2e"),)))


def test_a_name_that_is_very_long_is_cut_in_messages(tmp_path: Path) -> None:
    folder = tmp_path / "e2e" / "case"
    folder.mkdir(parents=True)
    long = "x" * 100_000
    (folder / "00-a.yaml").write_text(
        f"apiVersion: kuttl.dev/v1beta1\nkind: TestStep\n{long}: 1\n"
        f"kubeconfigLoading: {'y' * 60_000}\n---\n"
        f"apiVersion: kuttl.dev/{long}\nkind: {long}\n---\n? {long}\n: 1\n{long}: 2\n"
    )
    with pytest.raises(SuiteInvalid) as caught:
        load_suite(SuiteRequest(test_dirs=(str(tmp_path / "e2e"),)))
    assert max(len(finding.message) for finding in caught.value.findings) < 600
