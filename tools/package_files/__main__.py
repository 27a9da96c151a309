"""Writes the reference of the files of a package: a page and JSON schemas, from the models.

    python -m tools.package_files [--check]

With `--check` nothing is written: what is stale is named, and the exit code is 1.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tools.package_files.page import page
from tools.package_files.schemas import schemas

DOCS: Final = Path(__file__).parents[2] / "docs"


def files() -> dict[str, str]:
    """Return the generated texts by their path in docs/."""
    return {
        "package-files.md": page(),
        **{
            f"schemas/{name}": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
            for name, schema in schemas().items()
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or with `--check` name those that are stale and return 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.package_files", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args(arguments).check
    stale = [path for path, text in files().items() if _read(DOCS / path) != text]
    for path in stale:
        if not check:
            (DOCS / path).parent.mkdir(exist_ok=True)
            (DOCS / path).write_text(files()[path], encoding="utf-8")
        print(f"{'stale' if check else 'written'}: docs/{path}")
    return 1 if check and stale else 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
