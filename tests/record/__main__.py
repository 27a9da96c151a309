"""Writes the record: `python -m tests.record`."""

import shutil
import sys

from tests.unit.record.subjects import FOLDER, SUBJECTS, written


def main() -> None:
    """Write all files, and remove those that nothing writes any more."""
    for subject in sys.argv[1:] or SUBJECTS:
        texts = written(subject)
        shutil.rmtree(FOLDER / subject, ignore_errors=True)
        for name, text in texts.items():
            path = FOLDER / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
