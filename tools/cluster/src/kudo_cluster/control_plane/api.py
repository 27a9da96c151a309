"""A minimal Kubernetes client for the setup of a cluster.

It reads and patches objects, and applies the kinds that the setup creates with server-side apply.
Tests and demo use kubeio or kubectl instead.
"""

import http.client
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kudo_cluster.errors import ApiError

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
