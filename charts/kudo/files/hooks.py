"""The hooks of the chart: verifies an installation, and replaces KUDO 0.19. Needs only Python.

    hooks.py verify      wait until both services work; `helm test` runs it
    hooks.py take-over   then remove what `kubectl kudo init` of KUDO 0.19 installed

Exit codes: 0 done; 1 not done, with the reason on the last line.
"""

import argparse
import http.client
import json
import os
import ssl
import sys
import time
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
WEBHOOK = "mutate.instance-admission.kudo.dev"
DEPLOYMENTS = ("kudo-webhook", "kudo-reconciler")
OLD_CONFIGURATION = (
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/"
    "kudo-manager-instance-admission-webhook-config"
)
OLD_NAMESPACE = "kudo-system"
_POLL = 1.0
_CALL_SECONDS = 30.0

Json = dict[str, Any]


class Cluster:
    """A client of the API server with the service account of this pod.

    Args:
        account: Folder with the account's token, ca.crt and namespace.
    """

    def __init__(self, account: Path) -> None:
        self.namespace = (account / "namespace").read_text(encoding="utf-8").strip()
        self._account = account
        self._host = os.environ["KUBERNETES_SERVICE_HOST"]
        self._port = int(os.environ["KUBERNETES_SERVICE_PORT"])

    def call(self, method: str, path: str, body: Json | None = None) -> tuple[int, Json]:
        """Return status and body of the response; raises OSError if there is none."""
        context = ssl.create_default_context(cafile=str(self._account / "ca.crt"))
        connection = http.client.HTTPSConnection(
            self._host, self._port, context=context, timeout=_CALL_SECONDS
        )
        token = (self._account / "token").read_text(encoding="utf-8").strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        finally:
            connection.close()


def problem(cluster: Cluster) -> str:
    """Return why KUDO does not work yet; empty if it does."""
    for name in DEPLOYMENTS:
        if found := unavailable(cluster, name):
            return found
    return webhook_not_called(cluster)


def unavailable(cluster: Cluster, name: str) -> str:
    """Return why a Deployment is not rolled out; empty if it is."""
    path = f"/apis/apps/v1/namespaces/{cluster.namespace}/deployments/{name}"
    code, found = cluster.call("GET", path)
    if code != http.client.OK:
        return f"Deployment {name}: {found.get('message', code)}"
    status = found.get("status", {})
    if status.get("observedGeneration", 0) < found["metadata"]["generation"]:
        return f"Deployment {name} is being updated"
    desired = found["spec"].get("replicas", 1)
    available, updated = status.get("availableReplicas", 0), status.get("updatedReplicas", 0)
    if available < desired or updated < desired:
        return f"Deployment {name}: {available} of {desired} replicas are available"
    return ""


def webhook_not_called(cluster: Cluster) -> str:
    """Return why the API server does not call the webhook; empty if it does.

    Creates an Instance of an OperatorVersion that does not exist, as a dry run, which stores
    nothing: only the webhook denies it.
    """
    name = "kudo-verify-no-such-version"
    instance = {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": {"name": name},
        "spec": {"operatorVersion": {"name": name}},
    }
    path = f"/apis/kudo.dev/v1beta1/namespaces/{cluster.namespace}/instances?dryRun=All"
    code, answer = cluster.call("POST", path, instance)
    message = str(answer.get("message", ""))
    if WEBHOOK in message and answer.get("reason") == "OperatorVersionNotFound":
        return ""
    if code < http.client.BAD_REQUEST:
        return "the API server does not call the webhook: its configuration is missing"
    return message or f"the API server answers with status {code}"


def wait(cluster: Cluster, seconds: float) -> str:
    """Return the problem that is left after so many seconds; empty if none is."""
    deadline = time.monotonic() + seconds
    printed = ""
    while True:
        try:
            found = problem(cluster)
        except OSError as error:
            found = f"the API server: {error}"
        if not found or time.monotonic() > deadline:
            return found
        if found != printed:
            say(f"waiting: {found}")
        printed = found
        time.sleep(_POLL)


def take_over(cluster: Cluster) -> str:
    """Remove what KUDO 0.19 installed, its webhook configuration first; return any problem."""
    namespace = old_namespace(cluster.call("GET", OLD_CONFIGURATION)[1])
    core = f"/api/v1/namespaces/{namespace}"
    for path in (
        OLD_CONFIGURATION,
        f"/apis/apps/v1/namespaces/{namespace}/statefulsets/kudo-controller-manager",
        f"{core}/services/kudo-controller-manager-service",
        f"{core}/secrets/kudo-webhook-server-secret",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kudo-manager-rolebinding",
        f"{core}/serviceaccounts/kudo-manager",
    ):
        code, answer = cluster.call("DELETE", path, {"propagationPolicy": "Foreground"})
        if code == http.client.NOT_FOUND:
            continue
        if code >= http.client.BAD_REQUEST:
            return str(answer.get("message", f"{path}: status {code}"))
        say(f"removed {'/'.join(path.split('/')[-2:])}")
    return ""


def old_namespace(configuration: Json) -> str:
    """Return the namespace of the old manager, from its webhook configuration."""
    for webhook in configuration.get("webhooks", []):
        service = webhook.get("clientConfig", {}).get("service", {})
        return str(service.get("namespace", OLD_NAMESPACE))
    return OLD_NAMESPACE


def say(text: str) -> None:
    """Print a line at once: the logs of a pod are read while it runs."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["verify", "take-over"])
    parser.add_argument("--account", type=Path, default=ACCOUNT)
    parser.add_argument("--seconds", type=float, default=300.0, help="to wait for the services")
    options = parser.parse_args()
    cluster = Cluster(options.account)
    left = wait(cluster, options.seconds)
    if not left:
        say("both services are available, and the API server calls the webhook")
        if options.command == "take-over":
            left = take_over(cluster)
    if left:
        say(f"not done: {left}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
