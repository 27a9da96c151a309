"""docs/reasons.md has a row for every reason of events, conditions and denials, and for no other.

Reasons are found in the sources where they are used: as arguments of the functions and errors that
take one. Problems of packages and repositories have codes of their own.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from kudo.plans.runs import conditions
from kudo.plans.runs.suspension import RESUMED
from kudo_reconciler.metrics.labels import NO_REASON, OTHER, RUN_REASONS, STOPPED
from tests.unit.docs.pages import ROOT

SOURCES = ("libs/kudo/src/kudo", "services/reconciler/src", "services/webhook/src")
OF_PACKAGES = {"authoring", "packages", "repositories", "verification"}
TAKE_REASONS = {
    "DocumentError",
    "FatalTaskError",
    "KindNotServed",
    "Note",
    "Problem",
    "TransientTaskError",
    "_Text",
    "_edited",
    "_refuse",
    "fail",
    "failed",
    "failure",
    "note",
    "task_error",
    "tell",
    "warning",
}
_REASON = re.compile(r"(?:[A-Z]+[a-z]+){2,}(?:[A-Z]+)?|[A-Z][a-z]+[A-Z]+[a-z]+\w*")
_ROW = re.compile(r"^\| (`[A-Z]\w+`(?:, `[A-Z]\w+`)*) \|[^|]+\|[^|]+\|$", re.MULTILINE)
_NAME = re.compile(r"`(\w+)`")


def modules() -> Iterator[Path]:
    for source in SOURCES:
        for path in (ROOT / source).rglob("*.py"):
            if not OF_PACKAGES & set(path.relative_to(ROOT / source).parts):
                yield path


def used() -> set[str]:
    found = {name for name in RUN_REASONS if name not in {NO_REASON, OTHER, STOPPED}}
    found |= {
        value
        for name, value in vars(conditions).items()
        if name.isupper() and isinstance(value, str) and not name.startswith("_")
    } - {conditions.READY, conditions.RECONCILING, conditions.STALLED}
    found.add(RESUMED)
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and _called(node) in TAKE_REASONS:
                found |= set(_reasons(node))
    return found


def _called(call: ast.Call) -> str:
    target = call.func
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""


def _reasons(call: ast.Call) -> Iterator[str]:
    for given in (*call.args, *(keyword.value for keyword in call.keywords)):
        text = given.value if isinstance(given, ast.Constant) else None
        if isinstance(text, str) and _REASON.fullmatch(text):
            yield text


def documented() -> list[str]:
    page = (ROOT / "docs" / "reasons.md").read_text()
    return [name for names in _ROW.findall(page) for name in _NAME.findall(names)]


def test_every_reason_has_a_row_and_every_row_a_reason() -> None:
    assert sorted(set(documented())) == sorted(used())


def test_a_reason_has_one_row_except_where_it_is_a_condition_and_an_answer() -> None:
    names = documented()
    twice = {"InstanceDeleting", "InternalError"}
    assert {name for name in names if names.count(name) > 1} == twice
