"""A webhook on this machine: the API server reaches it and trusts its certificate."""

import base64
import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kudo_cluster import Cluster

if TYPE_CHECKING:
    from tests.support.cluster.kubectl import Kubectl


_MESSAGE = "not while the test is watching"


class DenyEverything(http.server.BaseHTTPRequestHandler):
    """Answers every admission review with a refusal."""

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        response = {
            "uid": review["request"]["uid"],
            "allowed": False,
            "status": {"message": _MESSAGE},
        }
        answer = json.dumps({**review, "response": response}).encode()
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *values: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""


@pytest.fixture(params=["127.0.0.1", "localhost"])
def webhook(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path: Path
) -> Iterator[tuple[str, bytes]]:
    """Serve on this machine and yield the URL and the authority to trust."""
    host: str = request.param
    certificate, key, authority = cluster.serving_certificate(tmp_path / "tls", host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with http.server.HTTPServer(("127.0.0.1", 0), DenyEverything) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"https://{host}:{server.server_port}/", authority
        server.shutdown()
        thread.join()


def test_a_webhook_with_a_certificate_of_the_cluster_is_called(
    kubectl: "Kubectl", webhook: tuple[str, bytes]
) -> None:
    url, authority = webhook
    name = f"{kubectl.namespace}.example.com"
    selector = {"matchLabels": {"kubernetes.io/metadata.name": kubectl.namespace}}
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    kubectl.apply(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [
                {
                    "name": name,
                    "clientConfig": {"url": url, "caBundle": base64.b64encode(authority).decode()},
                    "rules": [rule],
                    "namespaceSelector": selector,
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Fail",
                }
            ],
        }
    )
    try:
        # The API server takes a moment to notice the configuration.
        attempts = (kubectl.run("create", "configmap", f"try-{n}") for n in range(500))
        refused = next(attempt for attempt in attempts if attempt.returncode != 0)
        assert _MESSAGE in refused.stderr
    finally:
        kubectl("delete", "validatingwebhookconfiguration", name)
