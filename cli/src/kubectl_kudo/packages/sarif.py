"""Findings in the Static Analysis Results Interchange Format (SARIF) 2.1.0, for code scanning."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from kubectl_kudo import __version__
from kubectl_kudo.core.output import JsonObject
from kudo.verification import Finding
from kudo.verification.codes import CODES

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Sequence[Finding], root: Path) -> JsonObject:
    """Return a SARIF log with one run.

    Args:
        findings: Its results.
        root: The folder of the package; URIs are relative to the working directory.
    """
    codes = list(dict.fromkeys(finding.code for finding in findings))
    driver = {
        "name": "kubectl-kudo",
        "semanticVersion": __version__,
        "rules": [_rule(code) for code in codes],
    }
    results = [_result(finding, codes.index(finding.code), root) for finding in findings]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> JsonObject:
    rule: JsonObject = {"id": code}
    if code in CODES:
        rule["shortDescription"] = {"text": CODES[code]}
    return rule


def _result(finding: Finding, rule: int, root: Path) -> JsonObject:
    text = finding.problem.message
    if finding.suggestion:
        text = f"{text}; {finding.suggestion}"
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": text},
        "locations": [{"physicalLocation": _location(finding, root)}],
    }


def _location(finding: Finding, root: Path) -> JsonObject:
    place = finding.place
    path = Path(os.path.relpath(root / place.file))
    location: JsonObject = {
        "artifactLocation": {"uri": quote(path.as_posix(), errors="surrogateescape")}
    }
    if place.line:
        region = {"startLine": place.line}
        if place.column:
            region["startColumn"] = place.column
        location["region"] = region
    return location
