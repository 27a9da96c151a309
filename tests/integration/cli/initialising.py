"""`kubectl kudo init`, run on a cluster where KUDO is not installed."""

import subprocess
import sys
from pathlib import Path

from tests.chart.site import Site
from tests.integration.support import Done

BUILT_IN = "--unsafe-self-signed-webhook-ca"
STEPS = [
    f"✅ installed {step}"
    for step in ("crds", "namespace", "service account", "webhook", "kudo controller")
]


def init(site: Site, *flags: str, user: Path | None = None) -> Done:
    """Run `kubectl kudo init`, as administrator or by another kubeconfig."""
    command = [
        str(Path(sys.executable).with_name("kubectl-kudo")),
        "init",
        f"--kubeconfig={user or site.cluster.kubeconfig('admin')}",
        *flags,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)
