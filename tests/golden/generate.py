"""Ask real Go what the templates of `gotemplate.json` give, and write its answers beside them.

Usage: python tests/golden/generate.py [--check]

The file holds questions and answers, a case a line. To add a case, add a line with `name`, `text`
and `data` (the index of a data set at the top; `missingkey` when it is not "error"), and run this.
Where our engine differs on purpose the line also has `ours`, its answer, and `why`; `v3` is there
when Sprig 3 answers differently from Sprig 2.22, whose answer is the one that counts.

With `--check` nothing is written and the exit status is 1 when the file would change. Needs `go`;
the modules come through its ordinary proxy. Without Go the exit status is 2.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GOLDEN = HERE / "gotemplate.json"
_ABOUT = "Templates and what Go's text/template with Sprig gives; see generate.py."

_Json = Any
_Record = dict[str, _Json]


def _ask_go(records: list[_Record], data_sets: list[_Json]) -> list[_Record]:
    questions = [
        {
            "name": record["name"],
            "text": record["text"],
            "data": data_sets[record["data"]],
            "missingkey": record.get("missingkey", "error"),
        }
        for record in records
    ]
    answer = subprocess.run(
        ["go", "run", "."],
        cwd=HERE / "oracle",
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        raise SystemExit(f"the oracle failed:\n{answer.stderr}")
    found: list[_Record] = json.loads(answer.stdout)
    return found


def _answered(record: _Record, go: _Record) -> _Record:
    """Give a record with its question as it was and its answers as Go gives them now."""
    kept = ("name", "text", "data", "missingkey")
    found: _Record = {key: record[key] for key in kept if key in record}
    found |= go["v2"]
    if go["v3"] != go["v2"]:
        found["v3"] = go["v3"]
    return found | {key: record[key] for key in ("ours", "why") if key in record}


def _document(old: _Record) -> str:
    """Write the document with one case a line, so that changes can be read."""
    records: list[_Record] = old["cases"]
    answers = _ask_go(records, old["data"])
    cases = [_answered(record, go) for record, go in zip(records, answers, strict=True)]
    return (
        f'{{"about": {json.dumps(_ABOUT)},\n"data": [\n{_lines(old["data"])}\n],\n'
        f'"cases": [\n{_lines(cases)}\n]}}\n'
    )


def _lines(values: list[_Json]) -> str:
    return ",\n".join(json.dumps(value, ensure_ascii=False) for value in values)


def main() -> int:
    """Generate or check; give the exit status."""
    if shutil.which("go") is None:
        sys.stderr.write("go is not installed\n")
        return 2
    before = GOLDEN.read_text(encoding="utf-8")
    document = _document(json.loads(before))
    if "--check" not in sys.argv[1:]:
        GOLDEN.write_text(document, encoding="utf-8")
        return 0
    if document == before:
        return 0
    sys.stderr.write(f"{GOLDEN.name} is not what Go gives; run {Path(__file__).name}\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
