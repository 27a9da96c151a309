"""Files of other projects that tests need, such as their CRDs, as Go modules ship them.

Versions and checksums are pinned in `modules/go.mod` and `go.sum`; Go keeps what it has fetched.
"""

import json
import subprocess
from functools import cache
from pathlib import Path

_MODULES = Path(__file__).with_name("modules")

CERT_MANAGER = "github.com/cert-manager/cert-manager"
PROMETHEUS_OPERATOR = "github.com/prometheus-operator/prometheus-operator"


@cache
def module_folder(module: str) -> Path:
    """Return where the files of a pinned module are, fetched if need be.

    Raises:
        RuntimeError: Go could not get it; the text is Go's.
    """
    done = subprocess.run(
        ["go", "mod", "download", "-json", module],
        cwd=_MODULES,
        capture_output=True,
        text=True,
        check=False,
    )
    answer = json.loads(done.stdout or "{}")
    if done.returncode or "Dir" not in answer:
        raise RuntimeError(answer.get("Error") or done.stderr.strip())
    return Path(answer["Dir"])
