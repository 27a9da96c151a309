"""What the setup of a cluster needs of its API server: a minimal client, kubectl, health checks.

The client reads and patches objects, and applies the kinds that the setup creates with server-side
apply. Tests and demo use kubeio or kubectl instead.
"""

import http.client
import json
import ssl
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from kudo_cluster.errors import ApiError, ClusterError

FIELD_MANAGER = "kudo-cluster"
_TIMEOUT = 10.0
_COLLECTIONS = {
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
}

Manifest = Mapping[str, Any]


class Api:
    """A connection to the API server with a client certificate."""

    def __init__(self, server: str, *, ca: Path, certificate: Path, key: Path) -> None:
        self._address = urlsplit(server).netloc
        self._context = ssl.create_default_context(cafile=str(ca))
        self._context.load_cert_chain(certificate, key)

    def get(self, path: str) -> Any | None:
        """Return an object, None if it does not exist."""
        try:
            return self._request("GET", path)
        except ApiError as error:
            if error.status == http.HTTPStatus.NOT_FOUND:
                return None
            raise

    def apply(self, manifest: Manifest) -> None:
        """Create or update an object by server-side apply."""
        metadata = manifest["metadata"]
        collection = _COLLECTIONS[manifest["kind"]].format(namespace=metadata.get("namespace"))
        path = f"{collection}/{metadata['name']}?fieldManager={FIELD_MANAGER}&force=true"
        # An apply patch is YAML, and JSON is YAML.
        self._request("PATCH", path, manifest, "application/apply-patch+yaml")

    def patch(self, path: str, patch: Manifest) -> None:
        """Change an object by a strategic merge patch, which merges conditions by type."""
        self._request("PATCH", path, patch, "application/strategic-merge-patch+json")

    def _request(
        self, method: str, path: str, body: Manifest | None = None, content_type: str = ""
    ) -> Any:
        connection = http.client.HTTPSConnection(
            self._address, context=self._context, timeout=_TIMEOUT
        )
        try:
            headers = {"Content-Type": content_type} if content_type else {}
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            raise ApiError(method, path, response.status, answer.decode(errors="replace"))
        return json.loads(answer)


_HEALTH_TIMEOUT = 2.0


def health_problem(url: str, ca: Path) -> str | None:
    """Return why the component at this URL is unhealthy, in one line; None if it is healthy."""
    parts = urlsplit(url)
    connection: http.client.HTTPConnection
    try:
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=str(ca))
            connection = http.client.HTTPSConnection(
                parts.netloc, context=context, timeout=_HEALTH_TIMEOUT
            )
        else:
            connection = http.client.HTTPConnection(parts.netloc, timeout=_HEALTH_TIMEOUT)
        try:
            connection.request("GET", parts.path)
            response = connection.getresponse()
            response.read()
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    return None if response.status == http.HTTPStatus.OK else f"HTTP {response.status}"


class Administered(Protocol):
    """A cluster with a kubeconfig of its administrator."""

    def kubeconfig(self, role: Literal["admin"]) -> Path:
        """Return the kubeconfig of a role."""

    def binary(self, name: str) -> Path:
        """Return the path of a program, such as kubectl."""


def kubectl(cluster: Administered, *arguments: str, text: str | None = None) -> str:
    """Run kubectl with `text` as its input, and return what it prints.

    Raises:
        ClusterError: it failed; the text is what it says.
    """
    command = [str(cluster.binary("kubectl")), f"--kubeconfig={cluster.kubeconfig('admin')}"]
    done = subprocess.run(
        [*command, *arguments], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ClusterError(f"kubectl {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout
