"""kubectl as one of a cluster's identities, for tests of the cluster itself."""

import json
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kudo_cluster import Cluster
from kudo_cluster.control_plane.identities import Role

_TIMEOUT = "120s"


@dataclass(frozen=True)
class Kubectl:
    """Runs kubectl as one of the cluster's identities."""

    cluster: Cluster
    cache: Path
    namespace: str = "default"
    role: Role = "admin"

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run kubectl, whatever comes of it."""
        command = [
            str(self.cluster.binary("kubectl")),
            f"--kubeconfig={self.cluster.kubeconfig(self.role)}",
            f"--namespace={self.namespace}",
            # Another cluster may once have had this one's port: its cache would mislead.
            f"--cache-dir={self.cache}",
            *arguments,
        ]
        return subprocess.run(command, input=stdin, capture_output=True, text=True)

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Run kubectl and return its output; it has to succeed."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def apply(self, manifest: Mapping[str, Any]) -> None:
        """Apply one object."""
        self("apply", "--server-side", "--filename=-", stdin=json.dumps(manifest))

    def get(self, *arguments: str) -> Any:
        """Read objects."""
        return json.loads(self("get", *arguments, "--output=json"))

    def wait(self, condition: str, *arguments: str) -> None:
        """Wait until a condition of an object holds."""
        self("wait", f"--for={condition}", f"--timeout={_TIMEOUT}", *arguments)


@contextmanager
def new_namespace(cluster: Cluster, cache: Path) -> Iterator[Kubectl]:
    """Yield kubectl as the admin, in a new namespace that is deleted at the end."""
    outside = Kubectl(cluster, cache)
    namespace = f"test-{uuid.uuid4().hex[:8]}"
    outside("create", "namespace", namespace)
    outside.wait("create", f"--namespace={namespace}", "serviceaccount/default")
    yield Kubectl(cluster, cache, namespace)
    outside("delete", "namespace", namespace, "--wait=false")
