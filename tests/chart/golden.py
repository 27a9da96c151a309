"""Golden renders of the chart, one for each set of values.

    python -m tests.chart.golden

writes them anew. The CRDs are left out, as they are compared with crds/, and so is what ConfigMaps
carry from files/ as it is.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.chart.value_sets import VALUE_SETS
from tools.chart.helm import template

GOLDEN = Path(__file__).parent / "golden"
_CARRIED = re.compile(r"^(  (?:hooks\.py|kudo\.json): \|)\n(?:    .*\n|[ ]*\n)+", re.MULTILINE)


def rendered(values: Mapping[str, Any]) -> str:
    return _CARRIED.sub(r"\1\n    ...\n", template({**values, "crds": {"install": False}}))


def main() -> None:
    for name, values in VALUE_SETS.items():
        (GOLDEN / f"{name}.yaml").write_text(rendered(values), encoding="utf-8")
    sys.stdout.write(f"{len(VALUE_SETS)} renders written to {GOLDEN}\n")


if __name__ == "__main__":
    main()
