"""Ask real Go what the templates of `tests/golden/cases` give, and write down its answers.

Usage: python -m tests.golden.generate [--check] [FAMILY ...]

A family is a module below `tests/golden/cases`; its answers are `tests/golden/answers/FAMILY.json`,
a case a line. What counts is what Sprig 2.22 renders, the version that operators were written
for; where it fails or lacks the function, what Sprig 3.3 says counts. When both know the functions
and differ, the line has the answer that does not count as `v3` or `v2`.

With `--check` nothing is written and the exit status is 1 when a file would change. Needs `go`;
without it the exit status is 2.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.golang import Answer, Oracle, has_go, running_oracle

_HERE = Path(__file__).parent
_CASES = _HERE / "cases"
_ANSWERS = _HERE / "answers"
_ABOUT = "Templates and what Go's text/template with Sprig gives; see tests/golden/generate.py."

_Json = Any


def families() -> list[str]:
    """Name the families there are."""
    return sorted(_modules())


def _modules() -> dict[str, str]:
    """Return the dotted name of the module of each family."""
    return {
        path.stem: f"tests.golden.cases.{path.parent.name}.{path.stem}"
        for path in _CASES.glob("*/*.py")
    }


def cases(family: str) -> Iterator[Case]:
    """Give the cases of a family."""
    module = importlib.import_module(_modules()[family])
    for item in module.CASES:
        yield item if isinstance(item, Case) else Case(item)


def counts(answers: dict[str, Answer]) -> dict[str, _Json]:
    """Choose the answer that counts, and keep the other one when it says something."""
    old, new = answers["v2"], answers["v3"]
    if "output" in old:
        return {**old} if old == new else {**old, "v3": new}
    if old == new or _unknown(old):
        return {**new}
    return {**new, "v2": old}


def _unknown(answer: Answer) -> bool:
    return 'function "' in answer["error"] and answer["error"].endswith('" not defined')


def document(family: str, oracle: Oracle) -> str:
    """Write the answers of a family, with one case a line so that changes can be read."""
    data: dict[str, int] = {}
    lines = []
    for case in cases(family):
        values = _line(case.values)
        record: dict[str, _Json] = {"text": case.text, "data": data.setdefault(values, len(data))}
        if case.missing_key != "error":
            record["missing_key"] = case.missing_key
        if case.policy != "operator":
            record["policy"] = case.policy
        answers = oracle.ask(
            case.text,
            case.values,
            name=family,
            missing_key=case.missing_key,
            policy=case.policy,
        )
        lines.append(_line({**record, **counts(answers), **case.difference}))
    return (
        f'{{"about": {_line(_ABOUT)},\n"data": [\n{_joined(data)}\n],\n'
        f'"cases": [\n{_joined(lines)}\n]}}\n'
    )


def _line(value: _Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _joined(lines: Iterable[str]) -> str:
    return ",\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Generate or check; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.generate")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    options = parser.parse_args(arguments)
    if not has_go():
        sys.stderr.write("go is not installed\n")
        return 2
    status = 0
    with running_oracle() as oracle:
        for family in options.families or families():
            path = _ANSWERS / f"{family}.json"
            text = document(family, oracle)
            if path.exists() and path.read_text(encoding="utf-8") == text:
                continue
            if options.check:
                sys.stderr.write(f"{path.name} is not what Go gives; run tests.golden.generate\n")
                status = 1
            else:
                path.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
