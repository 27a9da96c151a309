"""All reasons: of conditions, events and denials, and the codes of what `package verify` finds."""

import ast
from collections.abc import Iterator
from pathlib import Path

import kudo.verification
from kudo.plans.runs import conditions
from kudo.verification.finding import CODES
from tests.unit.docs.test_docs_reasons import documented

_SEVERITIES = {
    "error": "error",
    "_error": "error",
    "tolerated": "tolerated error",
    "warning": "warning",
    "_warning": "warning",
}
"""What makes findings, and of which severity."""


def reasons() -> str:
    """Return the types of conditions, and the reasons, which a test has compared with the code."""
    types = (conditions.READY, conditions.RECONCILING, conditions.STALLED)
    lines = [*(f"condition {name}" for name in types), *sorted(set(documented()))]
    return "".join(f"{line}\n" for line in lines)


def codes() -> str:
    """Return each code with its severity and meaning; what keeps a package from being read has no
    severity of its own, and is an error."""
    found = _severities()
    return "".join(
        f"{code} ({', '.join(sorted(found.get(code, {'error'})))}): {meaning}\n"
        for code, meaning in sorted(CODES.items())
    )


def _severities() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in Path(kudo.verification.__path__[0]).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = dict(_constants(tree))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            severity = _SEVERITIES.get(node.func.id)
            for code in _words(node, constants):
                if severity is not None and code in CODES:
                    found.setdefault(code, set()).add(severity)
    return found


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.AnnAssign):
            target = node.target
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
            yield target.id, str(value.value)


def _words(call: ast.Call, constants: dict[str, str]) -> Iterator[str]:
    for given in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(given, ast.Constant):
            yield str(given.value)
        elif isinstance(given, ast.Name):
            yield constants.get(given.id, "")
