"""Clusters as `init` finds them: with cert-manager, with KUDO 0.19, with the chart."""

from typing import Any

from tests.unit.cli.fake_api import FakeApi

JsonObject = dict[str, Any]

HOOK = "mutate.instance-admission.kudo.dev"
BUILT_IN = "--unsafe-self-signed-webhook-ca"
OLD_MANAGER = ("statefulsets", "kudo-controller-manager")
OLD_CONFIGURATION = (
    "mutatingwebhookconfigurations",
    "kudo-manager-instance-admission-webhook-config",
)
JUDGED = (404, "OperatorVersionNotFound", f'admission webhook "{HOOK}" denied the request: none')
"""How the webhook denies an Instance without an OperatorVersion."""


def add(server: FakeApi, plural: str, name: str, **parts: Any) -> JsonObject:
    """Store an object, in namespace kudo-system if its kind has namespaces."""
    kinds = {kind.plural: kind for kind in server.cluster.server.registry}
    place = {"namespace": "kudo-system"} if kinds[plural].namespaced else {}
    metadata = {"name": name, **place, **parts.pop("metadata", {})}
    return server.add(plural, {**parts, "metadata": metadata})


def cert_manager(server: FakeApi, *, version: str = "v1") -> None:
    """Have the kinds of cert-manager served."""
    for kind in ("Certificate", "Issuer"):
        plural = f"{kind.lower()}s"
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        served = {"name": version, "served": True, "schema": {"openAPIV3Schema": schema}}
        spec = {
            "group": "cert-manager.io",
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [served],
        }
        add(server, "customresourcedefinitions", f"{plural}.cert-manager.io", spec=spec)


def old_manager(server: FakeApi) -> None:
    """Have KUDO 0.19 installed."""
    add(server, *OLD_MANAGER, spec={"replicas": 1})
    service = {"name": "kudo-controller-manager-service", "namespace": "kudo-system"}
    add(server, *OLD_CONFIGURATION, webhooks=[{"clientConfig": {"service": service}}])


def of_helm(server: FakeApi) -> None:
    """Have the chart installed."""
    labels = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "mine"}
    spec: JsonObject = {"template": {"spec": {"containers": []}}}
    add(server, "deployments", "kudo-webhook", metadata={"labels": labels}, spec=spec)
