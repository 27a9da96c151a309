"""Prints findings of the verification as text, as data, or as SARIF 2.1.0 for code scanning."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from kubectl_kudo import __version__
from kubectl_kudo.session.output import JsonObject, one, say
from kubectl_kudo.session.terminal import continued, word
from kudo.verification import Finding
from kudo.verification.finding import CODES

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def print_findings(findings: Sequence[Finding], output: str, root: Path) -> None:
    """Print findings in a format.

    Args:
        findings: The findings.
        output: `yaml`, `json`, `sarif`, or empty for text.
        root: The folder or archive of the package, which paths in SARIF begin with.
    """
    if output == "sarif":
        print(one(sarif(findings, root), "json"), end="")
    elif output:
        print(one(_data(findings), output), end="")
    else:
        _print(findings)


def located_message(finding: Finding) -> str:
    """Return the message with place, code and suggestion."""
    # Further lines of a message are indented, so that a name in it forges no finding.
    message = continued(finding.problem.message)
    place = word(finding.place.position or finding.problem.field)
    suggestion = f"\n    {word(finding.suggestion)}" if finding.suggestion else ""
    return f"{message}  ({place}) [{finding.code}]{suggestion}"


def _data(findings: Sequence[Finding]) -> JsonObject:
    """Return the data of KUDO 0.19, and the findings with their places if there are any."""
    errors = [finding.problem.message for finding in findings if finding.is_error]
    warnings = [finding.problem.message for finding in findings if not finding.is_error]
    data: JsonObject = {"errors": errors, "warnings": warnings, "valid": not errors}
    if findings:
        data["findings"] = [_finding(finding) for finding in findings]
    return data


def _finding(finding: Finding) -> JsonObject:
    place = finding.place
    fields: JsonObject = {
        "severity": finding.severity.value,
        "code": finding.code,
        "message": finding.problem.message,
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "field": place.field,
        "suggestion": finding.suggestion,
        "fixable": finding.edit is not None,
    }
    return {name: value for name, value in fields.items() if value}


def _print(findings: Sequence[Finding]) -> None:
    errors = [finding for finding in findings if finding.is_error]
    warnings = [finding for finding in findings if not finding.is_error]
    for title, listed in (("Warnings", warnings), ("Errors", errors)):
        if listed:
            say(title)
        for finding in listed:
            say(located_message(finding))
    fixable = sum(finding.edit is not None for finding in findings)
    if fixable:
        say(f"{fixable} of them can be corrected by --fix")
    if not errors:
        say("package is valid")


def sarif(findings: Sequence[Finding], root: Path) -> JsonObject:
    """Return a SARIF log with one run.

    Args:
        findings: Its results.
        root: The folder of the package; URIs are relative to the working directory.
    """
    codes = list(dict.fromkeys(finding.code for finding in findings))
    rules: list[JsonObject] = [
        {"id": code, "shortDescription": {"text": CODES[code]}} if code in CODES else {"id": code}
        for code in codes
    ]
    driver = {"name": "kubectl-kudo", "semanticVersion": __version__, "rules": rules}
    results = [_result(finding, codes.index(finding.code), root) for finding in findings]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(finding: Finding, rule: int, root: Path) -> JsonObject:
    text = finding.problem.message
    if finding.suggestion:
        text = f"{text}; {finding.suggestion}"
    place = finding.place
    # Code scanning knows files by their paths in the checkout, where the command is run.
    path = Path(os.path.relpath(root / place.file))
    location: JsonObject = {
        "artifactLocation": {"uri": quote(path.as_posix(), errors="surrogateescape")}
    }
    if place.line:
        region = {"startLine": place.line}
        if place.column:
            region["startColumn"] = place.column
        location["region"] = region
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }
