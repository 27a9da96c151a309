"""A cluster of its own for the chart: without what the local cluster installs in its place."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kudo_cluster import Cluster
from kudo_cluster.installation import Service
from kudo_cluster.ports import free_ports
from kudo_cluster.progress import silent
from kudo_cluster.supervision import Supervision
from tools.chart.helm import CHART, NAMESPACE, RELEASE, Json, helm

CONFIGURATION = "kudo-instance-admission"
CRDS = ("instances.kudo.dev", "operators.kudo.dev", "operatorversions.kudo.dev")
CONFIGURATION_KINDS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_KINDS = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")


class KubectlError(Exception):
    """kubectl failed; the text is what it said."""


@dataclass
class Site:
    """A cluster on which the chart can be installed."""

    cluster: Cluster
    supervision: Supervision = field(repr=False)

    def kubectl(self, *arguments: str, text: str = "", kubeconfig: Path | None = None) -> str:
        """Run kubectl as administrator, or by another kubeconfig, and return what it prints."""
        command = [
            str(self.cluster.binary("kubectl")),
            f"--kubeconfig={kubeconfig or self.cluster.kubeconfig('admin')}",
            f"--cache-dir={self.cluster.directory / 'kubectl-cache'}",
        ]
        done = subprocess.run(
            [*command, *arguments], input=text, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise KubectlError(done.stderr.strip())
        return done.stdout + done.stderr

    def get(self, *arguments: str) -> Json:
        """Return an object, or a list of them."""
        found: Json = json.loads(self.kubectl("get", "--output=json", *arguments))
        return found

    def names(self, kind: str, *arguments: str) -> set[str]:
        """Return the names of all objects of a kind."""
        return {obj["metadata"]["name"] for obj in self.get(kind, *arguments)["items"]}

    def apply(self, *objects: Json, options: tuple[str, ...] = ()) -> str:
        """Apply objects by server-side apply; returns what kubectl says, warnings included."""
        return self.kubectl(
            "apply", "--server-side", *options, "--filename=-", text=yaml.safe_dump_all(objects)
        )

    def helm(self, command: str, *options: str, **values: Any) -> str:
        """Run a command of Helm on the release; `values` are set by their dotted names."""
        chart = [] if command in {"uninstall", "rollback"} else [str(CHART)]
        settings = [f"--set={name.replace('__', '.')}={value}" for name, value in values.items()]
        arguments = [command, RELEASE, *chart, f"--namespace={NAMESPACE}", *settings, *options]
        return helm(*arguments, kubeconfig=self.cluster.kubeconfig("admin"))

    def clean(self) -> None:
        """Remove the release, if there is one, and everything of KUDO that it leaves."""
        if self.names("secrets", f"--namespace={NAMESPACE}", "--selector=owner=helm"):
            self.helm("uninstall", "--no-hooks")
        self.kubectl("delete", "crds", "--ignore-not-found", *CRDS)
        leftovers = "jobs,leases,secrets,configmaps,serviceaccounts,pods,services,statefulsets"
        self.kubectl("delete", leftovers, "--all", f"--namespace={NAMESPACE}", "--ignore-not-found")

    def account(self, name: str, folder: Path) -> Path:
        """Write what a pod of a service account finds mounted, and return the folder."""
        token = self.kubectl("create", "token", name, f"--namespace={NAMESPACE}")
        for file, content in (
            ("token", token.strip()),
            ("namespace", NAMESPACE),
            ("ca.crt", self.cluster.ca_pem.decode()),
        ):
            (folder / file).write_text(content, encoding="utf-8")
        return folder

    def service(self, name: str, *options: str) -> Service:
        """Return one of the services, not started yet, that acts as its service account."""
        [probes] = free_ports(1)
        folder = self.cluster.directory / f"account-{name}"
        folder.mkdir(exist_ok=True)
        kubeconfig = self._kubeconfig(self.account(f"kudo-{name}", folder))
        program = Path(sys.executable).with_name(f"kudo-{name}")
        command = [str(program), f"--kubeconfig={kubeconfig}", "--probe-host=127.0.0.1"]
        command += [f"--probe-port={probes}", *options]
        log = self.cluster.directory / f"{name}.log"
        return Service(name, command, log, probes, self.supervision)

    def hooks(self) -> str:
        """Return the manifests of the hooks of the installed release."""
        return helm(
            "get", "hooks", RELEASE, f"--namespace={NAMESPACE}",
            kubeconfig=self.cluster.kubeconfig("admin"),
        )  # fmt: skip

    @contextmanager
    def webhook(self) -> Iterator[Service]:
        """Run the webhook of the release beside the cluster, as its service account.

        Both configurations are pointed to it; everything else in them stays as it was rendered.
        """
        folder = self.cluster.directory / "serving"
        folder.mkdir(exist_ok=True)
        certificate, key, authority = self.cluster.serving_certificate(folder, "127.0.0.1")
        [port] = free_ports(1)
        service = self.service(
            "webhook", "--host=127.0.0.1", f"--port={port}", f"--tls-cert={certificate}",
            f"--tls-key={key}", "--drain-seconds=0",
        )  # fmt: skip
        service.start()
        try:
            self._point_to(f"https://127.0.0.1:{port}", authority)
            yield service
        finally:
            service.kill()

    def _point_to(self, url: str, authority: bytes) -> None:
        for kind in CONFIGURATION_KINDS:
            [found] = self.get(kind, CONFIGURATION)["webhooks"]
            path = found["clientConfig"]["service"]["path"]
            config = {"url": url + path, "caBundle": base64.b64encode(authority).decode()}
            ops = [{"op": "replace", "path": "/webhooks/0/clientConfig", "value": config}]
            self.kubectl("patch", kind, CONFIGURATION, "--type=json", f"--patch={json.dumps(ops)}")

    def _kubeconfig(self, account: Path) -> Path:
        server = {"server": self.cluster.server, "certificate-authority": str(account / "ca.crt")}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "site", "cluster": server}],
            "users": [{"name": "us", "user": {"tokenFile": str(account / "token")}}],
            "contexts": [
                {"name": "c", "context": {"cluster": "site", "user": "us", "namespace": NAMESPACE}}
            ],
            "current-context": "c",
        }
        path = account / "kubeconfig"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path


@contextmanager
def new_site() -> Iterator[Site]:
    """Start a cluster without the rights that it makes for the services, and stop it."""
    with Cluster.start(name="chart", progress=silent) as cluster:
        supervision = Supervision(cluster.directory / "services.log", remove=None)
        site = Site(cluster, supervision)
        try:
            _strip(site)
            yield site
        finally:
            supervision.stop()


def _strip(site: Site) -> None:
    for kind in _KINDS:
        for obj in site.get(kind, "--all-namespaces")["items"]:
            metadata = obj["metadata"]
            if metadata["name"].startswith("kudo-") and metadata["name"] != "kudo-user":
                where = [f"--namespace={metadata['namespace']}"] if "namespace" in metadata else []
                site.kubectl("delete", kind, metadata["name"], *where)
