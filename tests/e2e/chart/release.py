"""KUDO as a user of the chart has it: a release of Helm, with our images, on a real node."""

import http.client
import re
from dataclasses import dataclass
from typing import Literal

import yaml

from kudo_cluster.tenancy import IMPERSONATOR
from tests.support.build import Json
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.site import Site, wait_until
from tools.chart.helm import NAMESPACE, RELEASE, HelmError, helm

Component = Literal["webhook", "reconciler"]
COMPONENTS: tuple[Component, ...] = ("webhook", "reconciler")
PROBES: dict[Component, int] = {"webhook": 8081, "reconciler": 8080}
USUAL: Json = {
    # Tests kill the reconciler; the one that follows waits for the Lease to run out.
    "reconciler": {"leaderElection": {"leaseDuration": 6, "renewDeadline": 4, "retryPeriod": 1}}
}
_WAIT = ("--wait", "--timeout=180s")
_LOG_LINES = 40
_SERIES = re.compile(r"^([a-z]\S*) (\S+)$", re.MULTILINE)


@dataclass
class Release:
    """The chart on one cluster.

    Attributes:
        site: The cluster.
        kubectl: The administrator, in the namespace of the release.
        values: What the release was given last; None while it is missing or half done.
    """

    site: Site
    kubectl: Kubectl
    values: Json | None = None

    def settle(self) -> None:
        """Have the usual release, also after a test that has left another one or none."""
        if self.values != USUAL:
            self.upgrade(USUAL)
        for component in COMPONENTS:
            self.scale(component, 2)
        self.wait_available()
        wait_until(self.site.registered, "the webhook to register")

    def upgrade(self, values: Json, *options: str) -> str:
        """Install or upgrade the release; by default wait until both services are ready."""
        self.values = None
        file = self.site.cluster.directory / "values.yaml"
        file.write_text(yaml.safe_dump(values), encoding="utf-8")
        try:
            said = self.site.helm("upgrade", "--install", f"--values={file}", *(options or _WAIT))
        except HelmError as error:
            error.add_note(self._describe())
            raise
        self.values = values
        return said

    def allow_tenant(self, namespace: str) -> None:
        """Let plans act as the default account of a namespace, with the rights of an admin."""
        self._bind(namespace, IMPERSONATOR, f"{NAMESPACE}:kudo-reconciler")
        self._bind(namespace, "admin", f"{namespace}:default")

    def _describe(self) -> str:
        """Return what tells why a rollout does not come to its end."""
        parts = [self.kubectl("get", "replicasets,pods", "--output=wide")]
        for component in COMPONENTS:
            labels = f"app.kubernetes.io/component={component}"
            parts.append(self.kubectl("describe", "pods", f"--selector={labels}"))
            for pod in self._all_pods(component):
                logs = self.kubectl.run("logs", pod["metadata"]["name"], f"--tail={_LOG_LINES}")
                parts.append(f"{pod['metadata']['name']}\n{logs.stdout}{logs.stderr}")
        return "\n".join(parts)

    def _bind(self, namespace: str, role: str, account: str) -> None:
        bound = (f"--clusterrole={role}", f"--serviceaccount={account}", f"--namespace={namespace}")
        self.site.kubectl("create", "rolebinding", role, *bound)

    def uninstall(self) -> None:
        self.values = None
        self.site.helm("uninstall", "--wait")

    def test(self) -> str:
        """Run `helm test`; raises HelmError with what it found."""
        kubeconfig = self.site.cluster.kubeconfig("admin")
        return helm("test", RELEASE, f"--namespace={NAMESPACE}", kubeconfig=kubeconfig)

    def scale(self, component: Component, replicas: int) -> None:
        self.kubectl("scale", f"deployment/kudo-{component}", f"--replicas={replicas}")

    def wait_available(self, *components: Component) -> None:
        """Wait until the Deployments have all of their pods, as they are wanted now."""
        for component in components or COMPONENTS:
            status = ("rollout", "status", f"deployment/kudo-{component}", "--timeout=180s")
            self.kubectl(*status)

    def pods(self, component: Component) -> list[Json]:
        """Return the pods of a service that are not on their way out."""
        return [pod for pod in self._all_pods(component) if not _is_leaving(pod)]

    def leaving(self, component: Component) -> list[Json]:
        """Return the pods of a service that are on their way out, and may still be reached."""
        return [pod for pod in self._all_pods(component) if _is_leaving(pod)]

    def _all_pods(self, component: Component) -> list[Json]:
        selector = f"app.kubernetes.io/name=kudo,app.kubernetes.io/component={component}"
        found: list[Json] = self.kubectl.get("pods", f"--selector={selector}")["items"]
        return found

    def names(self, component: Component) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.pods(component)]

    def logs(self, component: Component) -> list[str]:
        """Return the lines that the pods of a service have written."""
        texts = [self.kubectl("logs", name) for name in self.names(component)]
        return [line for text in texts for line in text.splitlines()]

    def metrics(self, component: Component) -> list[dict[str, float]]:
        """Return what each pod of a service measures: values by name and labels."""
        return [_series(_read(pod, PROBES[component])) for pod in self.pods(component)]


def _read(pod: Json, port: int) -> str:
    connection = http.client.HTTPConnection(pod["status"]["podIP"], port, timeout=10)
    try:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        assert answer.status == http.HTTPStatus.OK, answer.status
        return answer.read().decode()
    finally:
        connection.close()


def _series(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in _SERIES.findall(text)}


def _is_leaving(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]
