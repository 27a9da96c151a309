"""Kinds with rules of their own, and discovery."""

from kubeio.discovery import Discovery
from kubeio.resource import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    NETWORK_POLICIES,
    VALIDATING_WEBHOOKS,
    Resource,
)
from kubeio.types import Json, JsonObject
from tests.integration.conformance.recording import Recorder
from tests.integration.conformance.scripts.objects import WIDGETS, Scripts

SCRIPTS = Scripts()


@SCRIPTS.add
async def events_and_leases_are_kept(api: Recorder) -> None:
    client, where = api.client, api.namespace
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e.1", "namespace": where},
        "involvedObject": {"kind": "Widget", "name": "w", "namespace": where},
        "reason": "Tried",
        "message": "it was tried",
        "type": "Normal",
        "source": {"component": "kudo"},
        "count": 1,
    }
    await api.call("event", client.create(EVENTS, event, namespace=where))
    await api.call("the same event", client.create(EVENTS, event, namespace=where))
    for selector in ("involvedObject.name=w,type=Normal", "involvedObject.name=other"):
        listed = client.list(EVENTS, namespace=where, field_selector=selector)
        await api.call(selector, listed)
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l", "namespace": where},
        "spec": {"holderIdentity": "one", "leaseDurationSeconds": 15, "leaseTransitions": 0},
    }
    made = await api.call("lease", client.create(LEASES, lease))
    taken = {**made, "spec": {**made["spec"], "holderIdentity": "two"}}
    await api.call("take it", client.replace(LEASES, taken))
    await api.call("take it as well", client.replace(LEASES, taken))


@SCRIPTS.add
async def cluster_scoped_objects_have_no_namespace(api: Recorder) -> None:
    client = api.client
    name = f"{api.namespace}:role"
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    await api.call("apply", client.apply(CLUSTER_ROLES, role, field_manager="kudo"))
    other = {**role, "rules": []}
    await api.call("of another", client.apply(CLUSTER_ROLES, other, field_manager="helm"))
    await api.call("get", client.get(CLUSTER_ROLES, name))
    await api.call("delete", client.delete(CLUSTER_ROLES, name, propagation="Foreground"))
    await api.gone("it goes", CLUSTER_ROLES, name)


@SCRIPTS.add
async def configurations_of_webhooks_have_generations(api: Recorder) -> None:
    client, name = api.client, f"{api.namespace}.example.com"

    def shown(obj: JsonObject) -> Json:
        metadata = obj["metadata"]
        return [metadata["generation"], [hook["name"] for hook in obj["webhooks"]]]

    async def apply(kind: Resource, manager: str, hook: str) -> None:
        # It has no rules, so that nobody's writes wait for it.
        config = {
            "name": f"{hook}.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        obj = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name},
            "webhooks": [config],
        }
        call = client.apply(kind, obj, field_manager=manager)
        await api.call(f"{manager} applies {hook}", call, shown)

    for kind in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        await apply(kind, "kudo", "one")
        await apply(kind, "kudo", "one")
        await apply(kind, "helm", "two")
        await api.call("delete", client.delete(kind, name, propagation="Background"))


@SCRIPTS.add
async def kinds_are_discovered(api: Recorder) -> None:
    discovery = Discovery(api.client)
    desired = (
        *(WIDGETS, CONFIG_MAPS, DEPLOYMENTS, CLUSTER_ROLES, NAMESPACES, NETWORK_POLICIES),
        *(MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS),
    )
    for one in desired:
        found = await discovery.resolve(one.api_version, one.kind)
        api.note(f"{one.kind} alone", _resource(found))
    everything = await discovery.all_resources()
    places = [(one.api_version, one.kind) for one in desired]
    listed = [_resource(one) for one in everything if (one.api_version, one.kind) in places]
    api.note("all", sorted(listed, key=str))
    for group in ("apps", "conformance.example.com"):
        await api.call(f"group {group}", api.client.raw("GET", f"/apis/{group}"))
    await api.call("no such group of versions", api.client.raw("GET", "/apis/absent.example.com"))
    for what, path in (("group", "/apis/absent.example.com/v1"), ("version", "/apis/apps/v9")):
        await api.call(f"no such {what}", api.client.raw("GET", path))


def _resource(found: Resource) -> Json:
    verbs = sorted(found.verbs)
    return [found.path("ns", "x"), found.kind, verbs, "status" in found.subresources]
