"""Which modules a piece of code imports, seen in a process of its own."""

import json
import subprocess
import sys


def imported(code: str) -> set[str]:
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))
