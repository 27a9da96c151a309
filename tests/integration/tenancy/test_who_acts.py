"""What tasks do is done as the account that their Instance names, and by its rights alone."""

import json
import re
import uuid
from collections.abc import Iterator

import pytest

from tests.integration.pipe.pipes import Pipes, decoded, entry_of
from tests.integration.tenancy.conftest import ACCOUNT, until_allowed
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS, INSTANCES
from tests.support.cluster.world import World

OWNER = "instances.kudo.dev/finalizers"
"""Our owner references block the deletion of the Instance, which `update` on this permits."""
SECRET: Json = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "{{ .Name }}-secret"},
    "stringData": {"size": "{{ .Params.SIZE }}"},
}
CHILD = build.operator_version(
    "child-0.1.0",
    operator="child",
    templates={
        "a.yaml": build.template(build.config_map("{{ .Name }}", size="{{ .Params.SIZE }}"))
    },
    plans={"deploy": build.plan({"a": ["a"]})},
    parameters=[build.parameter("SIZE", "0")],
)
HAVE = {"package": "child", "operatorVersion": "0.1.0"}


def grant(kubectl: Kubectl, verbs: str, *resources: str) -> None:
    """Let the account do something in its namespace."""
    name = f"{ACCOUNT}-{uuid.uuid4().hex[:6]}"
    kinds = [f"--resource={resource}" for resource in resources]
    kubectl("create", "role", name, f"--verb={verbs}", *kinds)
    subject = f"--serviceaccount={kubectl.namespace}:{ACCOUNT}"
    kubectl("create", "rolebinding", name, f"--role={name}", subject)


@pytest.fixture
def powerful(admin_kubectl: Kubectl) -> Iterator[Kubectl]:
    """Let the account do everything."""
    name = f"{ACCOUNT}-{admin_kubectl.namespace}"
    subject = f"--serviceaccount={admin_kubectl.namespace}:{ACCOUNT}"
    admin_kubectl("create", "clusterrolebinding", name, "--clusterrole=cluster-admin", subject)
    user = f"system:serviceaccount:{admin_kubectl.namespace}:{ACCOUNT}"
    until_allowed(admin_kubectl, "create", "priorityclasses", user=user)
    yield admin_kubectl
    admin_kubectl("delete", "clusterrolebinding", name)


def using(name: str, config: str, secret: str) -> Json:
    """Return a Deployment whose pods restart when one of the two changes."""
    # Longer than the reconciler trusts its caches: meanwhile it reads what it applied.
    made = build.deployment(name, ready_delay="3s")
    made["spec"]["template"]["spec"]["volumes"] = [
        {"name": "config", "configMap": {"name": config}},
        {"name": "secret", "secret": {"secretName": secret}},
    ]
    return made


def one_task(name: str, kind: str, templates: dict[str, str], **spec: object) -> list[Json]:
    """Return an Instance whose deploy plan has this one task, and its OperatorVersion."""
    version = build.operator_version(
        f"v-{name}",
        templates=templates,
        tasks=[build.task("it", kind, **spec)],
        plans={"deploy": build.plan({"it": ["it"]})},
        parameters=[build.parameter("SIZE", "1")],
    )
    return [version, build.instance(name, f"v-{name}")]


def forbidden(world: World) -> dict[str, float]:
    """Return how many requests of the reconciler were forbidden, by their labels.

    Each test deletes its Instances, so nothing of another one adds to them.
    """
    status, text = world.installation.reconciler.get("/metrics")
    assert status == 200, text
    pattern = r'^kudo_api_requests_total{(.*code="403".*)} (\S+)$'
    return {labels: float(n) for labels, n in re.findall(pattern, text, re.MULTILINE)}


async def install(world: World, *objects: Json) -> None:
    done = await world.apply(*objects)
    assert done.code == 0, done.output


async def until_says(world: World, name: str, text: str) -> Json:
    """Wait until the plan of an Instance says something."""
    return await world.until(name, lambda seen: text in instances.messages(seen, "deploy"), text)


async def test_an_account_with_rights_on_config_maps_does_that_and_nothing_else(
    admin_kubectl: Kubectl, world: World
) -> None:
    before = forbidden(world)
    grant(admin_kubectl, "*", "configmaps")
    grant(admin_kubectl, "update", OWNER)
    admin_kubectl("create", "secret", "generic", "old-secret")
    text = build.template(build.config_map("{{ .Name }}-config"))
    await install(world, *one_task("does", "Apply", {"a.yaml": text}, resources=["a.yaml"]))
    await world.until_complete("does")

    secret = {"a.yaml": build.template(SECRET)}
    old = {"a.yaml": build.template({**SECRET, "metadata": {"name": "old-secret"}})}
    pod = {"a.yaml": build.template({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})}
    files = [entry_of("/out/a", "a")]
    await install(world, CHILD)
    await install(world, *one_task("applies", "Apply", secret, resources=["a.yaml"]))
    await install(world, *one_task("deletes", "Delete", old, resources=["a.yaml"]))
    await install(world, *one_task("pipes", "Pipe", pod, pod="a.yaml", pipe=files))
    await install(world, *one_task("has", "KudoOperator", {}, **HAVE))
    account = f"system:serviceaccount:{world.namespace}:{ACCOUNT}"
    for name, right in {
        "applies": 'patch resource "secrets"',
        "deletes": 'get resource "secrets"',
        "pipes": 'get resource "pods"',
        # What begins a task is asked about before it is on record, also for a child.
        "has": 'patch resource "instances"',
    }.items():
        says = f'User "{account}" cannot {right}'
        seen = await until_says(world, name, says)
        assert instances.status_of(seen, "deploy") != "COMPLETE"
    admin_kubectl("get", "secret", "old-secret")
    assert sum(forbidden(world).values()) > sum(before.values())


def everything(priority: str) -> Json:
    """Return an OperatorVersion whose deploy plan sends every kind of request."""
    config = build.config_map("{{ .Name }}-config", size="{{ .Params.SIZE }}")
    run = using("{{ .Name }}-run", "{{ .Name }}-config", "{{ .Name }}-secret")
    shared = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": priority},
        "description": "{{ .Name }}",
        "value": 1,
    }
    return build.operator_version(
        "everything-1",
        templates={
            "data.yaml": build.template(config, SECRET),
            "run.yaml": build.template(run),
            "shared.yaml": build.template(shared),
            "old.yaml": build.template(build.config_map("old")),
            "child.yaml": "SIZE: '{{ .Params.SIZE }}'",
        },
        tasks=[
            build.task("data", "Apply", "data.yaml"),
            build.task("run", "Apply", "run.yaml"),
            build.task("shared", "Apply", "shared.yaml"),
            build.task("clean", "Delete", "old.yaml"),
            build.task("have", "KudoOperator", **HAVE, parameterFile="child.yaml"),
        ],
        plans={
            "deploy": build.plan(
                *({name: [name]} for name in ("data", "run", "shared", "clean", "have"))
            )
        },
        parameters=[build.parameter("SIZE", "1")],
    )


async def test_every_request_of_a_plan_goes_out_as_the_account(
    powerful: Kubectl, world: World
) -> None:
    refused = forbidden(world)
    powerful("create", "configmap", "old")
    priority = f"shared-{world.namespace}"
    await install(world, CHILD, everything(priority), build.instance("i", "everything-1"))
    await world.until_complete("i")
    assert await world.find(CONFIG_MAPS, "old") is None
    before = await world.get(DEPLOYMENTS, "i-run")

    # What KUDO 0.19 would have left: our fields are taken over before the next apply.
    old = build.config_map("i-config", size="1", more="x")
    applied = json.dumps({**old, "metadata": {"name": "i-config", "namespace": world.namespace}})
    note = f"kudo.dev/last-applied-configuration={applied}"
    powerful("annotate", "configmap", "i-config", note)
    await world.patch("i", {"parameters": {"SIZE": "2"}})
    await world.until_complete("i")
    for name in ("i-config", "i-child"):
        assert (await world.get(CONFIG_MAPS, name))["data"] == {"size": "2"}
    after = await world.get(DEPLOYMENTS, "i-run")
    assert after["spec"]["template"] != before["spec"]["template"]

    # Another Instance applies the same cluster-scoped object, with another content.
    await install(world, build.instance("j", "everything-1"))
    await world.until_complete("j")
    assert powerful.get("priorityclass", priority)["description"] == "j"
    assert (await world.get(INSTANCES, "j-child"))["spec"]["parameters"] == {"SIZE": "1"}
    # What is tried again would hide a request that went out as the reconciler.
    assert forbidden(world) == refused


async def test_files_are_copied_as_the_account(powerful: Kubectl, pipes: Pipes) -> None:
    refused = forbidden(pipes.world)
    path = pipes.file("a", b"content")
    await pipes.install(entry_of(path, "a"))
    await pipes.world.until_complete("i")
    artifact = powerful.get("configmap", "i.deploy.phase1.make.pipe.a")
    assert decoded(artifact["binaryData"]) == {"a": b"content"}
    assert await pipes.pods() == []
    assert forbidden(pipes.world) == refused


async def test_an_account_that_comes_late_and_one_that_the_instance_names(
    admin_kubectl: Kubectl, world: World
) -> None:
    text = build.template(build.config_map("{{ .Name }}-config"))
    [version, one] = one_task("named", "Apply", {"a.yaml": text}, resources=["a.yaml"])
    one["spec"]["serviceAccountName"] = "other"
    await install(world, version, one)
    says = f"ServiceAccount other does not exist in namespace {world.namespace}: create it"
    await until_says(world, "named", says)
    admin_kubectl("create", "serviceaccount", "other")
    account = f"system:serviceaccount:{world.namespace}:other"
    await until_says(world, "named", f'User "{account}" cannot patch resource "configmaps"')
    subject = f"--serviceaccount={world.namespace}:other"
    admin_kubectl("create", "rolebinding", "other", "--clusterrole=cluster-admin", subject)
    seen = await world.until_complete("named")
    assert seen["status"]["lastRun"]["serviceAccountName"] == "other"


async def test_a_secret_is_read_as_the_account_and_its_run_waits_for_the_right(
    admin_kubectl: Kubectl, world: World
) -> None:
    grant(admin_kubectl, "*", "configmaps")
    grant(admin_kubectl, "update", OWNER)
    admin_kubectl("create", "secret", "generic", "db", "--from-literal=password=abc")
    text = build.template(build.config_map("{{ .Name }}-size", size="{{ len .Params.PASSWORD }}"))
    version, instance = one_task("waits", "Apply", {"a.yaml": text}, resources=["a.yaml"])
    version["spec"]["parameters"].append(build.parameter("PASSWORD", secret=True))
    reference = {"name": "db", "key": "password"}
    instance["spec"]["parametersFrom"] = [{"name": "PASSWORD", "secretKeyRef": reference}]
    await install(world, version, instance)
    held = await world.until(
        "waits", lambda i: instances.reason_of(i)[1] == "ParameterSourceForbidden", "it to wait"
    )
    user = f"system:serviceaccount:{world.namespace}:{ACCOUNT}"
    message = instances.ready(held)["message"]
    assert f'User "{user}" cannot get resource "secrets"' in message
    assert "lastRun" not in held["status"]
    grant(admin_kubectl, "get", "secrets")
    await world.until_complete("waits")
    assert (await world.get(CONFIG_MAPS, "waits-size"))["data"] == {"size": "3"}
