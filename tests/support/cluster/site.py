"""A cluster of its own for the chart: without what the local cluster installs in its place."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kudo_cluster import Cluster
from kudo_cluster.cluster import Profile
from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.installation import Service
from kudo_cluster.processes.process import Supervision
from kudo_cluster.progress import Progress, silent
from tools.chart.helm import CHART, NAMESPACE, RELEASE, Json, helm

CONFIGURATION = "kudo-instance-admission"
CRDS = tuple(
    f"{plural}.kudo.dev" for plural in ("instances", "inventories", "operators", "operatorversions")
)
CONFIGURATION_KINDS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_KINDS = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")


CONFIGURATION_POLICY = "kudo-webhook-registration"
_POLICY_BINDING = "validatingadmissionpolicybindings"
_SECONDS = 60.0
_PATIENCE = 180.0
_NUDGES = 12
_POLL = 0.1
_LONGEST_PAUSE = 0.8


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
            [*command, *arguments],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
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
        self.delete_crds(*CRDS)
        leftovers = "jobs,leases,secrets,configmaps,serviceaccounts,pods,services,statefulsets"
        # Some are made anew as soon as they are gone, so nobody should wait for their end.
        self.kubectl("delete", leftovers, "--all", f"--namespace={NAMESPACE}", "--wait=false")

    def delete_crds(self, *names: str) -> None:
        """Delete CustomResourceDefinitions and wait until they are gone.

        Raises:
            AssertionError: some are still there; their conditions are in its text.
        """
        self.kubectl("delete", "crds", "--ignore-not-found", "--wait=false", *names)
        for nudge in range(_NUDGES):
            left = self._left(names)
            deadline = time.monotonic() + _SECONDS / 2
            while left and time.monotonic() < deadline:
                time.sleep(_POLL)
                left = self._left(names)
            if not left:
                return
            # Now and then one stays as it is. The controller in the API server that ends it looks
            # again when it changes, and at all of them every five minutes.
            for crd in left:
                with suppress(KubectlError):  # gone meanwhile
                    self.kubectl("annotate", "crd", crd["metadata"]["name"], f"nudge-{nudge}=")
        told = {crd["metadata"]["name"]: crd["status"]["conditions"] for crd in left}
        raise AssertionError(f"these CRDs are not gone: {json.dumps(told, indent=1)}")

    def _left(self, names: tuple[str, ...]) -> list[Json]:
        crds: list[Json] = self.get("crds")["items"]
        return [crd for crd in crds if crd["metadata"]["name"] in names]

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
        kubeconfig = self.service_kubeconfig(name)
        program = Path(sys.executable).with_name(f"kudo-{name}")
        command = [str(program), f"--kubeconfig={kubeconfig}", "--probe-host=127.0.0.1"]
        command += [f"--probe-port={probes}", *options]
        log = self.cluster.directory / f"{name}.log"
        return Service(name, command, log, probes, self.supervision)

    def service_kubeconfig(self, name: str) -> Path:
        """Return a kubeconfig with a token of the account of one of the services."""
        folder = self.cluster.directory / f"account-{name}"
        folder.mkdir(exist_ok=True)
        return self._kubeconfig(self.account(f"kudo-{name}", folder))

    def hooks(self) -> str:
        """Return the manifests of the hooks of the installed release."""
        return helm(
            "get", "hooks", RELEASE, f"--namespace={NAMESPACE}",
            kubeconfig=self.cluster.kubeconfig("admin"),
        )  # fmt: skip

    @contextmanager
    def webhook(self) -> Iterator[Service]:
        """Run the webhook of the release beside the cluster, as its service account.

        It registers what the release says, under an address where it can be called.
        """
        service = self.new_webhook()
        service.start()
        try:
            wait_until(self.registered, "the webhook to register")
            yield service
        finally:
            service.kill()

    def new_webhook(self, *, built_in: bool = False, pinned: bool = False) -> Service:
        """Return the webhook of the release, not started yet.

        With built-in certificates nobody can call it: they are for the name of its Service. Unless
        it is pinned, the policy that lets it register its Service alone is unbound before.
        """
        if not pinned:
            self.unpin()
        folder = self.cluster.directory / "serving"
        folder.mkdir(exist_ok=True)
        certificate, key, authority = self.cluster.serving_certificate(folder, "127.0.0.1")
        (folder / "ca.crt").write_bytes(authority)
        [port] = free_ports(1)
        webhooks = self.webhooks()
        for webhook in webhooks["mutating"] + webhooks["validating"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}"}
        (folder / "webhooks.json").write_text(json.dumps(webhooks), encoding="utf-8")
        files = (f"--tls-cert={certificate}", f"--tls-key={key}", f"--tls-ca={folder / 'ca.crt'}")
        secret = ("--certificate-secret=kudo-webhook-certificate",)
        return self.service(
            "webhook", "--host=127.0.0.1", f"--port={port}", "--drain-seconds=0",
            f"--register={folder / 'webhooks.json'}", *(secret if built_in else files),
        )  # fmt: skip

    def unpin(self) -> None:
        """Let the webhook register an address; an upgrade of the release forbids it again."""
        self.kubectl("delete", _POLICY_BINDING, CONFIGURATION_POLICY, "--ignore-not-found")

    def webhooks(self) -> Json:
        """Return what the release has its webhooks register."""
        data = self.get("configmap", "kudo-webhook", f"--namespace={NAMESPACE}")["data"]
        found: Json = json.loads(data["webhooks.json"])
        return found

    def registered(self) -> bool:
        """Whether both configurations are filled in."""
        return all(self.get(kind, CONFIGURATION).get("webhooks") for kind in CONFIGURATION_KINDS)

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


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds; raises AssertionError if it never does."""
    deadline = time.monotonic() + _SECONDS
    pause = _POLL
    while not condition():
        assert time.monotonic() < deadline, f"waited {_SECONDS:.0f} s in vain for {what}"
        time.sleep(pause)
        # Most conditions start kubectl, which costs more than the pause saves.
        pause = min(2 * pause, _LONGEST_PAUSE)


@contextmanager
def new_site(
    name: str = "chart", profile: Profile = "control-plane", progress: Progress = silent
) -> Iterator[Site]:
    """Start a cluster without the rights that it makes for the services, and stop it."""
    with Cluster.start(name=name, profile=profile, progress=progress) as cluster:
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
