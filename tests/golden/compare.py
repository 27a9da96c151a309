"""Compare our engine with real Go: on all golden cases, and on random templates.

Usage: python -m tests.golden.compare [--examples N] [--seed N] [--show N] [FAMILY ...]

Prints a table: of every family, how many templates were rendered the same, failed with the same
text, failed in both with different texts, and differ. `--examples N` makes N random comparisons,
none of them twice (0: the golden cases instead); the first `--show` disagreements are printed.
Templates that Go does not survive (a map inside itself) or does not finish are counted apart, and
so are those that exceed a limit of ours.
Exit status 1 when any template differs. Needs `go`.
"""

import argparse
import copy
import itertools
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from gotemplate import Environment, Sources, TemplateError
from gotemplate.functions import table as function_table
from tests.golden.case import VARIABLES, Case
from tests.golden.generate import cases, counts, families
from tests.golden.golang import Oracle, OracleError, running_oracle
from tests.golden.grammar import DATA, Grammar, Template

_OUTCOMES = ("identical", "both-error", "other text", "different")
_ALLOWED = ("Go gave up", "our limit", "different on purpose")
_TAKEN = "expected int; got int64"  # an int64 counts as an int here; docs/gotemplate.md
_CHANGED = ("semver",)
_GAVE_UP = "no answer"
_PATIENCE = 5.0  # seconds for Go to render a random template
_BATCH = 10  # random templates that share their data
_ROUND = 50  # such batches from one seed
_SHORT = 1500  # characters of a disagreement that are printed


@dataclass(frozen=True, slots=True)
class Comparison:
    """One template in both engines."""

    family: str
    case: Case
    go: Mapping[str, Any]
    ours: Mapping[str, str]

    @property
    def outcome(self) -> str:
        """One of the columns of the table."""
        if self.ours == self.case.difference.get("ours"):
            return "different on purpose"
        if self.go.get("error") == _GAVE_UP and "error" in self.ours:
            return "Go gave up"
        if " limit exceeded: " in self.ours.get("error", ""):
            return "our limit"
        if "output" in self.go and self.go["output"] == self.ours.get("output"):
            return "identical"
        if self.go == self.ours:
            return "both-error"
        if _TAKEN in self.go.get("error", ""):
            return "different on purpose"
        return "different" if "output" in self.go or "output" in self.ours else "other text"

    def __str__(self) -> str:
        lines = (
            f"{self.outcome} ({self.family}): {self.case.text!r}",
            f"  data {dict(self.case.values)!r}" if self.case.data is not None else "",
            f"  go   {self.go!r}"[:_SHORT],
            f"  ours {self.ours!r}"[:_SHORT],
        )
        return "\n".join(filter(None, lines))


class Comparer:
    """Both engines."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._environments: dict[tuple[str, str], Environment] = {}

    def compare(self, family: str, case: Case) -> Comparison:
        ours = self._ours(family, case)
        return Comparison(family, case, self._go(family, case, ours), ours)

    def _go(self, family: str, case: Case, ours: Mapping[str, str]) -> Mapping[str, str]:
        """Ask Go; where 2.22 fails, its error is as good as what 3.3 says.

        So is the answer of 3.3 for functions whose libraries have changed since the original was
        built with 2.22; see the cases of these functions.
        """
        try:
            answers = self._oracle.ask(
                case.text,
                case.values,
                name=family,
                missing_key=case.missing_key,
                policy=case.policy,
                seconds=_PATIENCE,
            )
        except OracleError:
            return {"error": _GAVE_UP}
        if ours == answers["v2"] or any(name in case.text for name in _CHANGED):
            return ours if ours in answers.values() else answers["v2"]
        chosen = counts(answers)
        return {key: chosen[key] for key in ("output", "error") if key in chosen}

    def _ours(self, family: str, case: Case) -> dict[str, str]:
        key = (case.policy, case.missing_key)
        if key not in self._environments:
            sources = Sources(variables=VARIABLES)
            self._environments[key] = Environment(case.policy, case.missing_key, sources=sources)
        values = copy.deepcopy(case.values)
        try:
            return {"output": self._environments[key].parse(family, case.text).render(values)}
        except TemplateError as error:
            return {"error": str(error)}


class Table:
    """The agreement by family."""

    def __init__(self, show: int) -> None:
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._show = show

    def add(self, comparison: Comparison) -> None:
        outcome = comparison.outcome
        self._counts[comparison.family][outcome] += 1
        if outcome in ("other text", "different") and self._show > 0:
            self._show -= 1
            sys.stdout.write(f"{comparison}\n")

    @property
    def differs(self) -> bool:
        return any(count["different"] or count["other text"] for count in self._counts.values())

    def lines(self) -> Iterator[str]:
        columns = (*_OUTCOMES, *_ALLOWED)
        yield f"| family | cases | {' | '.join(columns)} |"
        yield f"|---|---|{'---|' * len(columns)}"
        total: Counter[str] = Counter()
        for family, count in sorted(self._counts.items()):
            total += count
            yield _row(family, count, columns)
        yield _row("all", total, columns)


def _row(family: str, count: Mapping[str, int], columns: Sequence[str]) -> str:
    cells = [str(count.get(column, 0)) for column in columns]
    return f"| {family} | {sum(count.values())} | {' | '.join(cells)} |"


def compare_golden(comparer: Comparer, table: Table, names: Sequence[str]) -> None:
    for family in names or families():
        for case in cases(family):
            table.add(comparer.compare(family, case))


def compare_random(
    comparer: Comparer, table: Table, names: Sequence[str], examples: int, start: int
) -> None:
    """Make so many comparisons, spread over the families of the grammar."""
    grammar = Grammar(function_table("operator")).families
    chosen = names or list(grammar)
    for family in chosen:
        desired = -(-examples // len(chosen))
        seen: set[tuple[str, str, str]] = set()
        for number in itertools.count(start):
            if len(seen) >= desired:
                break
            _round(comparer, table, family, grammar[family], number, seen)


def _round(
    comparer: Comparer,
    table: Table,
    family: str,
    template: Template,
    start: int,
    seen: set[tuple[str, str, str]],
) -> None:
    @seed(start)
    @settings(
        max_examples=_ROUND,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.lists(template, min_size=_BATCH, max_size=_BATCH),
        DATA,
        st.sampled_from(["error", "error", "default", "zero"]),
    )
    def compare(texts: list[str], data: Any, missing: Any) -> None:
        values = json.dumps(data, sort_keys=True)
        for text in texts:
            question = (text, values, missing)
            if question not in seen:
                seen.add(question)
                table.add(comparer.compare(family, Case(text, data, missing_key=missing)))

    compare()


def main(arguments: Sequence[str]) -> int:
    """Compare and print; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.compare", description=__doc__)
    parser.add_argument("--examples", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--show", type=int, default=20, metavar="N")
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    options = parser.parse_args(arguments)
    table = Table(options.show)
    with running_oracle() as oracle:
        comparer = Comparer(oracle)
        if options.examples:
            compare_random(comparer, table, options.families, options.examples, options.seed)
        else:
            compare_golden(comparer, table, options.families)
    sys.stdout.writelines(f"{line}\n" for line in table.lines())
    return 1 if table.differs else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
