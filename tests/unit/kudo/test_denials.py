"""The text of a denial stands once, whoever denies: admission, the reconciler, the command line.

What is compared are clauses, between colons, semicolons and whatever is filled in. Commands in
parentheses are left out, and so are descriptions of fields.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
DENYING = (
    "libs/kudo/src/kudo/admission/*.py",
    "libs/kudo/src/kudo/api/instance.py",
    "libs/kudo/src/kudo/plans/execution/limits.py",
    "libs/kudo/src/kudo/jobs/*.py",
    "libs/kudo/src/kudo/parameters/values.py",
    "libs/kudo/src/kudo/plans/runs/*.py",
    "services/reconciler/src/kudo_reconciler/controller/*.py",
    "services/webhook/src/kudo_webhook/*.py",
    "cli/src/kubectl_kudo/session/dry_run.py",
    "cli/src/kubectl_kudo/session/errors.py",
    "cli/src/kubectl_kudo/instances/upgrading.py",
    "cli/src/kubectl_kudo/instances/version_changes.py",
    "cli/src/kubectl_kudo/packages/install_set.py",
    "cli/src/kubectl_kudo/commands/plan/retry.py",
)
FEWEST_WORDS = 6
POLICIES_ALONE = ("MutatingWebhookMissing", "OperatorVersionImmutable")
"""What the mutating webhook corrects, and what no rule forbids."""
SHORTER = {"changing serviceAccountName while a plan"}
"""In the rule the names of the accounts stand between."""


def literals(node: ast.AST) -> Iterator[str]:
    """Yield the texts but docstrings and descriptions, with `;` for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(
            str(part.value) if isinstance(part, ast.Constant) else ";" for part in node.values
        )
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.keyword) or child.arg != "description":
                yield from literals(child)


def clauses(source: str, fewest: int = FEWEST_WORDS) -> Iterator[str]:
    for text in literals(ast.parse(source)):
        yield from clauses_of(text, fewest)


def clauses_of(text: str, fewest: int) -> Iterator[str]:
    for clause in re.split("[:;]", re.sub(r"\(kubectl [^)]*\)", ";", text)):
        words = re.findall(r"\w+", clause)
        if len(words) >= fewest:
            yield " ".join(words)


def denials(policy: Path) -> Iterator[str]:
    """Yield the messages of a policy, with `;` for what is filled in."""
    for document in yaml.safe_load_all(policy.read_text()):
        for validation in document["spec"].get("validations") or ():
            message = validation.get("messageExpression") or f'"{validation["message"]}"'
            yield ";".join(re.findall('"([^"]*)"', message))


def test_all_sources_of_denials_exist() -> None:
    assert [pattern for pattern in DENYING if not any(ROOT.glob(pattern))] == []


def test_a_clause_of_a_denial_stands_once() -> None:
    sources = [path for pattern in DENYING for path in ROOT.glob(pattern)]
    found = Counter(clause for path in sources for clause in clauses(path.read_text()))
    assert "a run that is no retry begins at its first step" in found
    assert {clause: times for clause, times in found.items() if times > 1} == {}


@pytest.mark.parametrize("policy", sorted(ROOT.glob("policies/*.yaml")), ids=lambda one: one.stem)
def test_a_policy_denies_in_the_words_of_the_rules(policy: Path) -> None:
    sources = [path for pattern in DENYING for path in ROOT.glob(pattern)]
    found = {clause for path in sources for clause in clauses(path.read_text(), 3)}
    told = [text for text in denials(policy) if not text.startswith(POLICIES_ALONE)]
    assert {one for text in told for one in clauses_of(text, 3)} - found - SHORTER == set()


def test_clauses_are_found_whatever_is_filled_in() -> None:
    source = '''
"""The docstring of a module that nobody is shown."""
def f(): yield f"{a}: plan {b} has no step called {c}; its steps are one and the other (kubectl x)"
Field(description="What a field is for and nothing else")
'''
    assert list(clauses(source)) == ["its steps are one and the other"]
