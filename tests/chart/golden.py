"""Golden renders of the chart: the default in full, each other one by its differences.

    python -m tests.chart.golden

writes them anew. The CRDs are left out, as they are compared with crds/, and so is what ConfigMaps
carry from files/ as it is.

A file of differences has one section for each object that is not as in the render it starts from,
`BASES` or the default one: what is gone in one line, what is new in full, what is changed as a
unified diff. Line numbers count from the object's first line, so a change of another object leaves
them as they are.
"""

import difflib
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.chart.value_sets import VALUE_SETS
from tools.chart.helm import template

GOLDEN = Path(__file__).parent / "golden"
DEFAULT = "default"
BASES = {
    "cert-manager-issuer": "cert-manager",
    "cluster-admin": "compat",
    "everything-set": "compat",
    "take-over": "compat",
}
"""Sets of values that are nearer to another one than to the default."""
_CARRIED = re.compile(r"^(  (?:hooks\.py|kudo\.json): \|)\n(?:    .*\n|[ ]*\n)+", re.MULTILINE)
_CONTEXT_LINES = 1


def rendered(values: Mapping[str, Any]) -> str:
    return _CARRIED.sub(r"\1\n    ...\n", template({**values, "crds": {"install": False}}))


def path_of(name: str) -> Path:
    """Return the file of a set of values."""
    return GOLDEN / f"{name}.{'yaml' if name == DEFAULT else 'diff'}"


def recorded(name: str) -> str:
    """Return what the file of a set of values has to contain: what the chart renders now."""
    render = rendered(VALUE_SETS[name])
    if name == DEFAULT:
        return render
    return differences(rendered(VALUE_SETS[BASES.get(name, DEFAULT)]), render)


def differences(base: str, render: str) -> str:
    """Return how a render differs from another one, object by object.

    Raises:
        ValueError: two objects of a render have the same kind, namespace and name.
    """
    before, after = _objects(base), _objects(render)
    lines = [f"=== without {name}" for name in before if name not in after]
    for name, text in after.items():
        if name not in before:
            lines += [f"=== with {name}", *(f"+{line}" for line in text)]
        elif text != before[name]:
            lines += [f"=== changed {name}", *_changes(before[name], text)]
    return "".join(f"{line}\n" for line in lines)


def _changes(before: list[str], after: list[str]) -> Iterator[str]:
    changes = difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    return (line for line in changes if not line.startswith(("--- ", "+++ ")))


def _objects(render: str) -> dict[str, list[str]]:
    """Return the lines of each object, with the comments above it, by kind, namespace and name."""
    found: dict[str, list[str]] = {}
    for text in re.split(r"^---\n", render, flags=re.MULTILINE):
        obj = yaml.safe_load(text)
        if obj is None:
            continue
        metadata = obj["metadata"]
        place = f"{metadata['namespace']}/" if "namespace" in metadata else ""
        name = f"{obj['kind']} {place}{metadata['name']}"
        if name in found:
            raise ValueError(f"the chart renders {name} twice")
        found[name] = text.rstrip("\n").split("\n")
    return found


def main() -> None:
    for name in VALUE_SETS:
        path_of(name).write_text(recorded(name), encoding="utf-8")
    sys.stdout.write(f"{len(VALUE_SETS)} renders written to {GOLDEN}\n")


if __name__ == "__main__":
    main()
