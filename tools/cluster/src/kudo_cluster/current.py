"""The demo on the cluster of a context of the user's kubeconfig.

The demo only creates objects and changes none: an existing object with a name that it needs is an
error. At the end it deletes what it created, in reverse order, also after an error. Webhook and
reconciler run on this machine, as service accounts with the rights of the chart, so the API server
must be able to reach this machine.
"""

import contextlib
import ipaddress
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import yaml

from kudo_cluster.control_plane.identities import Authority, Role, write_private
from kudo_cluster.errors import ClusterError
from kudo_cluster.progress import Progress

SYSTEM_NAMESPACE: Final = "kudo-system"
"""Namespace of the service accounts; the RBAC rules of the chart name it."""
NAMESPACE: Final = "kudo-demo"
"""Namespace in which the demo installs operators."""
_RIGHTS: Final = Path(__file__).with_name("chart-rbac.yaml")
_ACCOUNTS: Final[Mapping[Role, str]] = {
    "webhook": "kudo-webhook",
    "reconciler": "kudo-reconciler",
}
_TOKEN_LIFETIME: Final = "12h"
_DEADLINE: Final = "--timeout=120s"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """A context of the kubeconfig.

    Attributes:
        kubectl: Path of kubectl.
        name: Name of the context.
        document: A kubeconfig with only this context and with inlined files.
    """

    kubectl: Path
    name: str
    document: Json

    @property
    def server(self) -> str:
        """URL of the API server."""
        return str(self.document["clusters"][0]["cluster"]["server"])

    @property
    def local(self) -> bool:
        """Whether the API server listens on a loopback address of this machine."""
        host = urlsplit(self.server).hostname or ""
        # Not looked up: a name server must not decide this.
        if host == "localhost":
            return True
        with contextlib.suppress(ValueError):
            return ipaddress.ip_address(host).is_loopback
        return False


def read(environment: Mapping[str, str], name: str = "") -> Context:
    """Read a context with kubectl; sends no request to the cluster.

    Args:
        environment: With PATH and KUBECONFIG.
        name: Of the context; empty for the current one.

    Raises:
        ClusterError: kubectl is missing, or there is no such context.
    """
    path = shutil.which("kubectl", path=environment.get("PATH"))
    if path is None:
        raise ClusterError("kubectl is not on the PATH; the demo reads the context with it")
    # kubectl merges the files of KUBECONFIG; --flatten puts certificates into the document.
    command = [path, "config", "view", "--minify", "--flatten", "--raw", "--output=json"]
    if name:
        command.append(f"--context={name}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        what = f"context {name}" if name else "the current context"
        raise ClusterError(
            f"cannot read {what}: {done.stderr.strip()}; see `kubectl config get-contexts`"
        )
    document: Json = json.loads(done.stdout)
    if not document.get("clusters"):
        raise ClusterError("the current context has no cluster; see `kubectl config get-contexts`")
    return Context(Path(path), document["current-context"], document)


@dataclass(frozen=True, slots=True)
class CurrentCluster:
    """A cluster that was not started here, as the `Host` of an `Installation`.

    Attributes:
        context: The context of its kubeconfig.
        directory: For files of the demo.
    """

    context: Context
    directory: Path

    @property
    def reconciler_user(self) -> str:
        return f"system:serviceaccount:{SYSTEM_NAMESPACE}:kudo-reconciler"

    def kubeconfig(self, role: Role) -> Path:
        """Return the kubeconfig of a role; `admin` and `user` are both the user of the context."""
        return self.directory / f"{role}.kubeconfig"

    def binary(self, name: str) -> Path:
        """Return the path of kubectl."""
        assert name == "kubectl"
        return self.context.kubectl

    def serving_certificate(self, directory: Path, *hosts: str) -> tuple[Path, Path, bytes]:
        """Issue a certificate for the webhook; see `Cluster.serving_certificate`."""
        authority = Authority.create("kudo-demo-webhook")
        certificate, key = authority.server("webhook", hosts).write(directory, "tls")
        return certificate, key, authority.pair.certificate


@contextlib.contextmanager
def provision(context: Context, progress: Progress) -> Iterator[CurrentCluster]:
    """Create namespaces, service accounts and RBAC rules; delete them at the end.

    Raises:
        ClusterError: an object exists already, or may not be created.
    """
    with tempfile.TemporaryDirectory(prefix="kudo-demo-") as folder, contextlib.ExitStack() as made:
        cluster = CurrentCluster(context, Path(folder))
        _write_kubeconfig(cluster, "admin", context.document["users"][0]["user"], namespace="")
        user = context.document["users"][0]["user"]
        _write_kubeconfig(cluster, "user", user, namespace=NAMESPACE)
        # Before the first object is created: what exists belongs to somebody, and is left alone.
        _check_free(cluster)
        progress(
            f"creating namespaces {SYSTEM_NAMESPACE} and {NAMESPACE}, service accounts and RBAC"
        )
        for obj in _objects():
            create(cluster, json.dumps(obj), made, progress)
        for role, account in _ACCOUNTS.items():
            arguments = ("create", "token", account, f"--namespace={SYSTEM_NAMESPACE}")
            # Longer than a demo lasts: nobody renews it here.
            token = kubectl(cluster, *arguments, f"--duration={_TOKEN_LIFETIME}").strip()
            _write_kubeconfig(cluster, role, {"token": token}, namespace=SYSTEM_NAMESPACE)
        yield cluster


def create(
    cluster: CurrentCluster, manifest: str, made: contextlib.ExitStack, progress: Progress
) -> None:
    """Create an object, and delete it when `made` is closed.

    Raises:
        ClusterError: the object exists, or may not be created.
    """
    name = kubectl(cluster, "create", "--output=name", "-f", "-", text=manifest).strip()

    def remove() -> None:
        try:
            kubectl(cluster, "delete", "--ignore-not-found", _DEADLINE, "-f", "-", text=manifest)
        except ClusterError as error:
            # The objects before it still have to be deleted.
            progress(f"could not delete {name}: {error}")

    made.callback(remove)


def kubectl(cluster: CurrentCluster, *arguments: str, text: str | None = None) -> str:
    """Run kubectl as the user of the context; return its stdout.

    Raises:
        ClusterError: kubectl failed.
    """
    command = [str(cluster.binary("kubectl")), f"--kubeconfig={cluster.kubeconfig('admin')}"]
    done = subprocess.run(
        [*command, *arguments], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ClusterError(f"kubectl {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout


def _check_free(cluster: CurrentCluster) -> None:
    """Raise ClusterError if KUDO, or a namespace of the demo, exists in the cluster."""
    expected = ["crd/instances.kudo.dev", f"namespace/{SYSTEM_NAMESPACE}", f"namespace/{NAMESPACE}"]
    names = kubectl(cluster, "get", "--ignore-not-found", "--output=name", *expected).split()
    if names:
        raise ClusterError(
            f"{', '.join(names)} exists in this cluster already. The demo installs KUDO itself and "
            "needs a cluster without it; with KUDO installed, run "
            "`kubectl kudo install ./examples/first-operator`"
        )


def _objects() -> Iterator[Json]:
    for name in (SYSTEM_NAMESPACE, NAMESPACE):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    for name in _ACCOUNTS.values():
        metadata = {"name": name, "namespace": SYSTEM_NAMESPACE}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    for obj in yaml.safe_load_all(_RIGHTS.read_text(encoding="utf-8")):
        # The rules name users of a local cluster, which has certificates; here they are accounts.
        if "subjects" in obj:
            subjects = [_account(subject["name"]) for subject in obj["subjects"]]
            obj = {**obj, "subjects": subjects}
        yield cast("Json", obj)


def _account(name: str) -> Json:
    return {"kind": "ServiceAccount", "name": name, "namespace": SYSTEM_NAMESPACE}


def _write_kubeconfig(cluster: CurrentCluster, role: Role, user: Json, *, namespace: str) -> None:
    document = cluster.context.document
    [named] = document["contexts"]
    context = {**named["context"], **({"namespace": namespace} if namespace else {})}
    content = {
        **document,
        "contexts": [{**named, "context": context}],
        "users": [{**document["users"][0], "user": user}],
    }
    write_private(cluster.kubeconfig(role), json.dumps(content).encode())
