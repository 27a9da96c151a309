"""What a tenant who holds `edit` in one namespace tries, and why it fails in strict mode.

The table in docs/security.md names these tests. The account of the namespace holds what the tenant
holds; `weak` holds less, and `boss` the rights of `admin`.
"""

import asyncio
import http.client
import json
import ssl
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.clients import client_of
from tests.support.cluster.commands import Done, run
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.world import World

TENANT: Final = "mallory"
CONTENT: Final = "hunter2-is-the-password"
"""Content of Secrets that no text may show."""
WEAK: Final = (
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch"]},
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "create", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "patch"]},
)


@dataclass(frozen=True)
class Attack:
    """Namespaces of a tenant and of a victim, and what the tenant does."""

    world: World
    admin: Kubectl
    victim: Kubectl

    @property
    def namespace(self) -> str:
        return self.admin.namespace

    async def tries(self, *objects: Json) -> Done:
        """Apply objects as the tenant."""
        return await self.kubectl("apply", "-f", "-", text=build.as_list(objects))

    async def kubectl(self, *arguments: str, text: str | None = None) -> Done:
        cluster = self.admin.cluster
        command = [
            str(cluster.binary("kubectl")),
            f"--kubeconfig={cluster.kubeconfig('admin')}",
            f"--cache-dir={self.admin.cache}",
            f"--namespace={self.namespace}",
            f"--as={TENANT}",
        ]
        return await run([*command, *arguments], text=text)

    async def installs(self, version: Json, account: str = "") -> str:
        """Create an OperatorVersion and an Instance as the tenant; return the Instance's name."""
        name = f"i-{uuid.uuid4().hex[:6]}"
        version = {**version, "metadata": {"name": name}}
        done = await self.tries(version, with_account(build.instance(name, name), account))
        assert done.code == 0, done.output
        return name

    async def until_says(self, name: str, *texts: str) -> Json:
        """Wait until the plan says all of this, and does not complete."""

        def says(seen: Json) -> bool:
            return all(text in instances.messages(seen, "deploy") for text in texts)

        found = await self.world.until(name, says, f"{texts}")
        assert instances.status_of(found, "deploy") != "COMPLETE"
        return found

    def shown(self) -> str:
        """Return all that KUDO tells in the namespace."""
        return self.admin("get", "instances.kudo.dev,events", "--output=json")


def with_account(instance: Json, account: str) -> Json:
    spec = {**instance["spec"], **({"serviceAccountName": account} if account else {})}
    return {**instance, "spec": spec}


def applies(*objects: Json) -> Json:
    """Return an OperatorVersion whose plan applies objects."""
    return build.operator_version(
        "v",
        templates={"all.yaml": build.template(*objects)},
        plans={"deploy": build.plan({"all": ["all"]})},
    )


def deletes(*objects: Json) -> Json:
    return build.operator_version(
        "v",
        templates={"all.yaml": build.template(*objects)},
        tasks=[build.task("all", "Delete", "all.yaml")],
        plans={"deploy": build.plan({"all": ["all"]})},
    )


def obj(api_version: str, kind: str, name: str, **fields: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def binding(name: str, role: str, kind: str = "ClusterRole") -> Json:
    group = "rbac.authorization.k8s.io"
    return obj(
        f"{group}/v1",
        "RoleBinding",
        name,
        roleRef={"apiGroup": group, "kind": kind, "name": role},
        subjects=[{"apiGroup": group, "kind": "User", "name": TENANT}],
    )


@pytest.fixture(scope="module")
def namespaces(
    cluster: Cluster, strict_installation: Installation
) -> Iterator[tuple[Kubectl, Kubectl]]:
    """Yield kubectl as the admin in a namespace of the tenant, and in one of a victim."""
    outside = Kubectl(cluster, cluster.directory / "kubectl-cache")
    made = []
    for what in ("tenant", "victim"):
        name = f"{what}-{uuid.uuid4().hex[:8]}"
        outside("create", "namespace", name)
        inside = Kubectl(cluster, outside.cache, name)
        inside.wait("create", "serviceaccount/default")
        strict_installation.allow_tenant(name)
        made.append(inside)
    mine, victim = made
    mine("create", "rolebinding", "tenant", "--clusterrole=edit", f"--user={TENANT}")
    account = f"--serviceaccount={mine.namespace}:"
    mine("create", "rolebinding", "account", "--clusterrole=edit", f"{account}default")
    mine("create", "serviceaccount", "boss")
    mine("create", "rolebinding", "boss", "--clusterrole=admin", f"{account}boss")
    mine("create", "serviceaccount", "weak")
    role = {**obj("rbac.authorization.k8s.io/v1", "Role", "weak"), "rules": list(WEAK)}
    mine.apply(role)
    mine("create", "rolebinding", "weak", "--role=weak", f"{account}weak")
    for one in made:
        one("create", "secret", "generic", "db", f"--from-literal=password={CONTENT}")
    victim("create", "configmap", "precious", "--from-literal=a=b")
    victim("create", "serviceaccount", "theirs")
    victim.apply(
        {**applies(build.config_map("x", text="of the victim")), "metadata": {"name": "v"}}
    )
    yield mine, victim
    for one in made:
        one("delete", "namespace", one.namespace, "--wait=false")


@pytest.fixture
async def attack(
    namespaces: tuple[Kubectl, Kubectl], strict_installation: Installation
) -> AsyncIterator[Attack]:
    mine, victim = namespaces
    strict_installation.webhook.start()
    strict_installation.reconciler.start()
    async with client_of(strict_installation.cluster.kubeconfig("user")) as client:
        reconcilers = (strict_installation.reconciler,)
        world = World(strict_installation, client, mine.namespace, None, reconcilers)
        yield Attack(world, mine, victim)
    assert CONTENT not in Attack(world, mine, victim).shown()


async def test_what_the_account_may_do_is_done_as_the_account(attack: Attack) -> None:
    name = await attack.installs(applies(build.config_map("fine", a="b")))
    found = await attack.world.until_complete(name)
    assert found["status"]["lastRun"]["serviceAccountName"] == "default"
    attack.admin("get", "configmap", "fine")


BEYOND: Final[Sequence[tuple[str, Json, str]]] = (
    ("a RoleBinding", binding("b", "cluster-admin"), "rolebindings"),
    ("a Role", obj("rbac.authorization.k8s.io/v1", "Role", "r", rules=[]), "roles"),
    ("Endpoints", obj("v1", "Endpoints", "e", subsets=[]), "endpoints"),
    (
        "an EndpointSlice at foreign pods",
        obj("discovery.k8s.io/v1", "EndpointSlice", "e", addressType="IPv4", endpoints=[]),
        "endpointslices",
    ),
    ("a ClusterRole", obj("rbac.authorization.k8s.io/v1", "ClusterRole", "c"), "clusterroles"),
    (
        "a PriorityClass",
        obj("scheduling.k8s.io/v1", "PriorityClass", "p-of-mallory", value=1),
        "priorityclasses",
    ),
    ("a Namespace", obj("v1", "Namespace", "of-mallory"), "namespaces"),
    (
        "a webhook",
        obj("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "w", webhooks=[]),
        "validatingwebhookconfigurations",
    ),
    ("a quota", obj("v1", "ResourceQuota", "q", spec={"hard": {}}), "resourcequotas"),
)


@pytest.mark.parametrize(
    ("target", "resource"), [row[1:] for row in BEYOND], ids=[row[0] for row in BEYOND]
)
async def test_an_object_beyond_the_rights_of_the_account_is_not_applied(
    attack: Attack, target: Json, resource: str
) -> None:
    name = await attack.installs(applies(target))
    await attack.until_says(name, "forbidden", f'resource "{resource}"')


async def test_an_account_grants_no_right_that_it_lacks(attack: Attack) -> None:
    # With it, the tenant would write the status of Instances.
    name = await attack.installs(applies(binding("escalates", "kudo-reconciler")), "boss")
    await attack.until_says(name, "not currently held")
    assert attack.admin.run("get", "rolebinding", "escalates").returncode


def uses_the_secret() -> Json:
    made = build.deployment("uses-db")
    spec = made["spec"]["template"]["spec"]
    spec["volumes"] = [{"name": "db", "secret": {"secretName": "db"}}]
    return made


async def test_no_hash_of_a_secret_that_the_account_may_not_read(attack: Attack) -> None:
    name = await attack.installs(applies(uses_the_secret()), "weak")
    account = f"system:serviceaccount:{attack.namespace}:weak"
    await attack.until_says(name, f'User "{account}" cannot get resource "secrets"')
    assert attack.admin.run("get", "deployment", "uses-db").returncode


async def test_nothing_is_told_of_a_secret_that_exists(attack: Attack) -> None:
    for found in ("db", "no-such-secret"):
        secret = obj("v1", "Secret", found, stringData={"password": "other"})
        name = await attack.installs(applies(secret), "weak")
        seen = await attack.until_says(name, 'cannot patch resource "secrets"')
        assert "exist" not in instances.messages(seen, "deploy")


async def test_no_file_is_copied_out_of_a_pod_without_the_right(attack: Attack) -> None:
    pod = obj("v1", "Pod", "p", spec={"containers": [{"name": "c", "image": "busybox"}]})
    pod["spec"]["volumes"] = [{"name": "shared", "emptyDir": {}}]
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "shared", "mountPath": "/out"}]
    version = build.operator_version(
        "v",
        templates={"pod.yaml": build.template(pod)},
        tasks=[
            build.task(
                "make",
                "Pipe",
                pod="pod.yaml",
                pipe=[{"file": "/out/a", "kind": "Secret", "key": "a"}],
            )
        ],
        plans={"deploy": build.plan({"make": ["make"]})},
    )
    name = await attack.installs(version, "weak")
    await attack.until_says(name, "cannot ")


def foreign(name: str, version: str, namespace: str) -> Json:
    made = build.instance(name, version)
    made["spec"]["operatorVersion"]["namespace"] = namespace
    return made


async def test_an_operatorversion_of_others_is_not_used_nor_found_out(attack: Attack) -> None:
    there = await attack.tries(foreign("f", "v", attack.victim.namespace))
    missing = await attack.tries(foreign("f", "w", attack.victim.namespace))
    assert there.code
    assert "OperatorVersionNotGranted" in there.output
    assert missing.output.replace("/w", "/v") == there.output
    attack.victim("annotate", "operatorversion", "v", f"kudo.dev/allow-from=a,{attack.namespace}")
    try:
        granted = await attack.tries(foreign("granted", "v", attack.victim.namespace))
        assert granted.code == 0, granted.output
        await attack.world.until_complete("granted")
    finally:
        attack.victim("annotate", "operatorversion", "v", "kudo.dev/allow-from-")


async def test_nor_while_the_webhook_is_missing(attack: Attack) -> None:
    attack.world.installation.unregister_webhook()
    try:
        done = await attack.tries(foreign("unseen", "v", attack.victim.namespace))
        assert done.code == 0, done.output

        def refused(seen: Json) -> bool:
            return "OperatorVersionNotGranted" in json.dumps(seen.get("status", {}))

        seen = await attack.world.until("unseen", refused, "refused")
        assert "lastRun" not in seen["status"]
    finally:
        attack.world.installation.register_webhook()
        await attack.kubectl("delete", "instance", "unseen")


@pytest.mark.parametrize(
    "account",
    [
        "system:serviceaccount:kube-system:default",
        "../kube-system/default",
        "kube-system/default",
        "a\r\nImpersonate-Group: system:masters",
        "*",
    ],
)
async def test_an_account_is_a_name(attack: Attack, account: str) -> None:
    version = {**applies(build.config_map("n")), "metadata": {"name": "named"}}
    assert (await attack.tries(version)).code == 0
    done = await attack.tries(with_account(build.instance("named", "named"), account))
    assert done.code
    assert "spec.serviceAccountName" in done.output


async def test_an_account_of_another_namespace_is_none(attack: Attack) -> None:
    name = await attack.installs(applies(build.config_map("c")), "theirs")
    await attack.until_says(name, "ServiceAccount", "theirs")
    assert attack.admin.run("get", "configmap", "c").returncode


async def test_an_object_of_another_namespace_is_not_deleted(attack: Attack) -> None:
    precious = build.config_map("precious")
    precious["metadata"]["namespace"] = attack.victim.namespace
    await attack.world.until_complete(await attack.installs(deletes(precious)))
    attack.victim("get", "configmap", "precious")


async def test_a_cluster_scoped_object_is_not_deleted(attack: Attack) -> None:
    name = await attack.installs(deletes(obj("v1", "Namespace", attack.victim.namespace)))
    await attack.until_says(name, 'resource "namespaces"')
    assert "deletionTimestamp" not in attack.victim.get("namespace", attack.victim.namespace)


@pytest.mark.parametrize("name", ["../../secrets/db", "..", "a/b", "%2e%2e%2fsecrets"])
async def test_a_name_does_not_escape_its_path(attack: Attack, name: str) -> None:
    found = await attack.installs(applies(build.config_map(name)))
    await attack.world.until_failed(found)


async def test_a_status_is_not_written(attack: Attack) -> None:
    name = await attack.installs(applies(build.config_map("s")))
    await attack.world.until_complete(name)
    patch = json.dumps({"status": {"lastRun": {"serviceAccountName": "boss"}}})
    done = await attack.kubectl(
        "patch", "instance", name, "--subresource=status", "--type=merge", f"--patch={patch}"
    )
    assert done.code
    assert "Forbidden" in done.output


async def test_a_run_is_not_asked_for_in_the_name_of_another(attack: Attack) -> None:
    name = await attack.installs(applies(build.config_map("named")))
    await attack.world.until_complete(name)
    run = {"planName": "deploy", "uid": str(uuid.uuid4()), "requestedBy": "admin"}
    patch = json.dumps({"spec": {"planExecution": run}})
    done = await attack.kubectl("patch", "instance", name, "--type=merge", f"--patch={patch}")
    assert done.code == 0, done.output
    found = await attack.world.until(
        name, lambda seen: len(seen["status"].get("history", ())) == 2, "two runs"
    )
    assert [one["cause"]["requestedBy"] for one in found["status"]["history"]] == [TENANT] * 2


def forged(asked: Json) -> Json:
    """Return a review of the creation of an Instance by an administrator, as nobody sent it."""
    metadata = {**asked["metadata"], "namespace": "default"}
    request = {
        "uid": "forged",
        "kind": {"group": "kudo.dev", "version": "v1beta1", "kind": "Instance"},
        "resource": {"group": "kudo.dev", "version": "v1beta1", "resource": "instances"},
        "namespace": "default",
        "name": metadata["name"],
        "operation": "CREATE",
        "userInfo": {"username": "admin", "groups": ["system:masters"]},
        "object": {**asked, "metadata": metadata},
        "oldObject": None,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


async def test_a_forged_review_stores_nothing_and_finds_nothing_out(attack: Attack) -> None:
    webhook = attack.world.installation.webhook
    port = next(one for one in webhook.command if one.startswith("--port=")).removeprefix("--port=")
    trusting = ssl._create_unverified_context()

    def post(review: Json) -> str:
        connection = http.client.HTTPSConnection("127.0.0.1", int(port), context=trusting)
        try:
            path, head = "/mutate-kudo-dev-v1beta1-instance", {"content-type": "application/json"}
            connection.request("POST", path, json.dumps(review), head)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    there, missing = [
        await asyncio.to_thread(post, forged(foreign("forged", name, attack.victim.namespace)))
        for name in ("v", "w")
    ]
    assert "OperatorVersionNotGranted" in there
    assert missing.replace("/w", "/v") == there
    assert attack.admin.run("get", "instance", "forged", "--namespace=default").returncode


async def test_an_operatorversion_in_use_is_not_edited(attack: Attack) -> None:
    name = await attack.installs(applies(build.config_map("o")))
    await attack.world.until_complete(name)
    patch = json.dumps({"spec": {"templates": {"all.yaml": ""}}})
    done = await attack.kubectl(
        "patch", "operatorversion", name, "--type=merge", f"--patch={patch}"
    )
    assert done.code
    assert "OperatorVersionImmutable" in done.output
    label = await attack.kubectl("label", "operatorversion", name, "team=a")
    assert label.code == 0, label.output


async def test_the_namespace_of_the_release_and_those_of_the_system_are_no_tenants(
    attack: Attack,
) -> None:
    for namespace in ("kudo-system", "kube-system"):
        inside = Kubectl(attack.admin.cluster, attack.admin.cache, namespace)
        version = {**applies(build.config_map("reserved")), "metadata": {"name": "reserved"}}
        for made in (version, build.instance("reserved", "reserved")):
            inside.apply(made)
        try:
            inside.wait(
                "jsonpath={.status.planStatus.deploy.status}=FATAL_ERROR", "instance/reserved"
            )
            found = inside.get("instance", "reserved")
            assert "NamespaceReserved" in json.dumps(found["status"])
            assert inside.run("get", "configmap", "reserved").returncode
        finally:
            inside("delete", "instance,operatorversion", "reserved", "--ignore-not-found")


async def test_without_a_binding_nobody_is_impersonated(attack: Attack, cluster: Cluster) -> None:
    name = f"unbound-{uuid.uuid4().hex[:6]}"
    attack.admin("create", "namespace", name)
    inside = Kubectl(cluster, attack.admin.cache, name)
    try:
        inside.wait("create", "serviceaccount/default")
        version = {**applies(build.config_map("c")), "metadata": {"name": "v"}}
        for made in (version, build.instance("i", "v")):
            inside.apply(made)
        unbound = replace(attack, world=replace(attack.world, namespace=name))
        await unbound.until_says("i", "cannot impersonate", f"kubectl kudo rbac --namespace {name}")
        assert inside.run("get", "configmap", "c").returncode
    finally:
        inside("delete", "namespace", name, "--wait=false")
