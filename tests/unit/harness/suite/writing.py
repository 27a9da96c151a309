"""Writes suites for tests and reads them."""

import textwrap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kudo_harness.findings import Severity, SuiteInvalid
from kudo_harness.suite import Suite, SuiteRequest, load_suite

Files = Mapping[str, str]

GROUPS = ("kudo.dev/v1alpha1", "kudo.dev/v1beta1", "kuttl.dev/v1beta1")

INSTALL = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
"""
COMPLETE = """
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata:
  name: a
status:
  planStatus:
    deploy:
      status: COMPLETE
"""


def write(root: Path, files: Files) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).removeprefix("\n"))


def load(root: Path, files: Files, request: SuiteRequest | None = None) -> Suite:
    """Write files; read the cases below `e2e`, or by the suite file `suite.yaml`."""
    write(root, files)
    asked = request or SuiteRequest()
    config = root / "suite.yaml"
    if config.exists():
        asked = replace(asked, config=config)
    if not (asked.test_dirs or config.exists()):
        asked = replace(asked, test_dirs=(str(root / "e2e"),))
    return load_suite(asked)


def errors(root: Path, files: Files, request: SuiteRequest | None = None) -> list[str]:
    """Return the errors of a suite as its author sees them, paths from the root of the suite."""
    with pytest.raises(SuiteInvalid) as caught:
        load(root, files, request)
    return [
        str(finding).replace(f"{root}/", "")
        for finding in caught.value.findings
        if finding.severity is Severity.ERROR
    ]


def warnings(root: Path, files: Files, request: SuiteRequest | None = None) -> list[str]:
    """Return the warnings of a suite that can run."""
    return [str(one).replace(f"{root}/", "") for one in load(root, files, request).warnings]
