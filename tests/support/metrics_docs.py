"""Reads docs/metrics.md: the tables of metrics and of label values, and the queries."""

import re
from collections.abc import Iterator
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
_CODE = re.compile(r"`([^`]+)`")
_EXPLANATION = re.compile(r"\([^()]*\)")


def rows(heading: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the table under a heading."""
    section = DOCUMENT.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    for line in lines[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def documented(*headings: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return type and labels of each metric in the tables under these headings."""
    return {
        _CODE.findall(name)[0]: (kind, tuple(_CODE.findall(labels)))
        for heading in headings
        for name, kind, labels, _ in rows(heading)
    }


def documented_values() -> dict[tuple[str, str], set[str]]:
    """Return the values that are listed for each metric and label; "" for `empty`."""
    found = {}
    for metrics, label, values in rows("Values of labels"):
        plain = _EXPLANATION.sub("", values)
        listed = set(_CODE.findall(plain)) | ({""} if "empty" in plain else set())
        for metric in _CODE.findall(metrics):
            found[metric, _CODE.findall(label)[0]] = listed
    return found


def queries() -> list[str]:
    text = DOCUMENT.read_text(encoding="utf-8")
    return re.findall(r"```promql\n(.*?)```", text, re.DOTALL)
