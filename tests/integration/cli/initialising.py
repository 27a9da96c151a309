"""`kubectl kudo init`, run on a cluster where KUDO is not installed."""

import os
from pathlib import Path

from tests.chart.site import Site
from tests.integration.support import Done
from tests.support.prefork import Prefork

BUILT_IN = "--unsafe-self-signed-webhook-ca"
STEPS = [
    f"✅ installed {step}"
    for step in ("crds", "namespace", "service account", "webhook", "kudo controller")
]


def init(site: Site, *flags: str, user: Path | None = None) -> Done:
    """Run `kubectl kudo init`, as administrator or by another kubeconfig."""
    kubeconfig = user or site.cluster.kubeconfig("admin")
    command = ["kubectl-kudo", "init", f"--kubeconfig={kubeconfig}", *flags]
    programs = Prefork.of(site.cluster.directory)
    done = programs.run(command, text=None, environment=os.environ)
    return Done(done.code, done.stdout, done.stderr)
