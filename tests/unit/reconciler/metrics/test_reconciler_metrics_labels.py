"""The words of labels against the sources: whatever code says is listed, and every word is said."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kudo.admission.rules import RULES, Moment
from kudo.plans.runs.conditions import SOURCE_REASONS
from kudo_reconciler.metrics import labels as words

ROOT = Path(__file__).resolve().parents[4]
RECONCILER = ROOT / "services" / "reconciler" / "src" / "kudo_reconciler"
KUDO = ROOT / "libs" / "kudo" / "src" / "kudo"
ENDS_RUNS = [
    *RECONCILER.rglob("*.py"),
    KUDO / "objects" / "enrichment.py",
    *(KUDO / "api" / "task_kinds").glob("*.py"),
    *(KUDO / "tasks").rglob("*.py"),
    *(KUDO / "objects" / "removed_apis").glob("*.py"),
]
REFUSES_RUNS = [
    KUDO / "parameters" / "values.py",
    KUDO / "plans" / "runs" / "upgrades.py",
    KUDO / "plans" / "runs" / "retries.py",
    KUDO / "plans" / "execution" / "limits.py",
]


@cache
def parsed(file: Path) -> list[ast.AST]:
    """Return the nodes of a module."""
    return [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]


def calls(files: list[Path], *names: str) -> Iterator[ast.Call]:
    for file in files:
        for node in parsed(file):
            if isinstance(node, ast.Call) and _name(node.func) in names:
                yield node


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def texts(node: ast.AST) -> set[str]:
    return {
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    }


def first_texts(files: list[Path], *names: str) -> set[str]:
    """Return the literal first arguments of the calls of these functions."""
    found = (call.args[0] for call in calls(files, *names) if call.args)
    return {one.value for one in found if isinstance(one, ast.Constant)}  # type: ignore[misc]


def judged() -> set[str]:
    """Return the reasons for which a scheduled run is refused."""
    rules = (rule for rule in RULES if rule.at & (Moment.SCHEDULED | Moment.STORED))
    problems = [
        node
        for rule in rules
        for node in ast.walk(ast.parse(inspect.getsource(rule.problems)))
        if isinstance(node, ast.Call) and _name(node.func) == "Problem"
    ]
    return {text for call in problems for text in texts(call.args[0])}


def failed_runs() -> set[str]:
    """Return the reasons that the calls of `Ending.fail` name."""
    folder = RECONCILER / "controller"
    found = calls([folder / "beginning.py", folder / "scheduled.py"], "fail")
    return {text for call in found for text in texts(call.args[3])}


def test_every_reason_that_can_end_a_run_is_listed_and_no_other() -> None:
    said = first_texts(ENDS_RUNS, "FatalTaskError", "task_error")
    said |= {"ServiceAccountNotFound"}  # fatal in a namespace that is being deleted
    said |= {"DummyTaskError"}  # fatal or transient, by the task's own words
    said |= first_texts([KUDO / "plans" / "runs" / "last_run.py"], "_edited")
    said |= SOURCE_REASONS  # of a cleanup that lacks a value
    said |= failed_runs() | judged() | first_texts(REFUSES_RUNS, "Problem", "problem")
    own = {words.NO_REASON, words.STOPPED, words.SUPERSEDED, words.OTHER}
    assert said == set(words.RUN_REASONS) - own


def test_every_reason_of_a_fatal_error_is_written_out_or_handed_on() -> None:
    reasons = [call.args[0] for call in calls(ENDS_RUNS, "FatalTaskError")]
    handed_on = {ast.unparse(one) for one in reasons if not isinstance(one, ast.Constant)}
    assert handed_on == {"error.reason", "problem.reason"}


def test_every_outcome_of_a_pass_is_listed_and_no_other() -> None:
    said = first_texts(list(RECONCILER.rglob("*.py")), "Result")
    assert said | {"error", "crash", words.OTHER} == set(words.RECONCILE_OUTCOMES)


def test_every_outcome_of_an_apply_is_listed_and_no_other() -> None:
    labelled = [
        call
        for call in calls(list(RECONCILER.rglob("*.py")), "labels")
        if "applied" in ast.unparse(call.func)
    ]
    written = {text for call in labelled for text in texts(call)}
    assert written == set(words.APPLY_OUTCOMES)
