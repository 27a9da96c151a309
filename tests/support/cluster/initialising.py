"""`kubectl kudo init`, run on a cluster where KUDO is not installed."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.cluster.commands import Done
from tests.support.cluster.site import Site
from tests.support.prefork import Prefork

BUILT_IN = "--unsafe-self-signed-webhook-ca"
STEPS = [
    f"✅ installed {step}"
    for step in ("crds", "namespace", "service account", "webhook", "kudo controller")
]


def init(site: Site, *flags: str, user: Path | None = None) -> Done:
    """Run `kubectl kudo init`, as administrator or by another kubeconfig.

    Forked where the programs of this cluster are; elsewhere (tests/chart, tests/e2e) the console
    script.
    """
    options = ["init", f"--kubeconfig={user or site.cluster.kubeconfig('admin')}", *flags]
    programs = Prefork.of(site.cluster.directory)
    if programs.path.exists():
        ended = programs.run(["kubectl-kudo", *options], text=None, environment=os.environ)
        return Done(ended.code, ended.stdout, ended.stderr)
    command = [str(Path(sys.executable).with_name("kubectl-kudo")), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)
