"""The packages under examples/: what their READMEs promise, on a cluster."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kubeio.resource import Resource
from kudo.names import FINALIZER_CLEANUP
from kudo.packages import read_package, to_objects
from kudo.rendering import render_objects, variables
from kudo.verification import verify
from tests.support import instances
from tests.support.build import Json
from tests.support.cluster.commands import Done
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS, INSTANCES, JOBS, NAMESPACES
from tests.support.cluster.world import World

WAIT = ("--wait", "--wait-time", "90s")
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
PACKAGES = sorted(str(f.parent.relative_to(EXAMPLES)) for f in EXAMPLES.rglob("operator.yaml"))
REAL = {"galera", "pipe-page"}
"""Their pods must really run: tests/e2e and tests/galera do what their READMEs say."""
V1, V2 = "lifecycle/v1", "lifecycle/v2"
CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
STATEFUL_SETS = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)


@pytest.fixture
async def restricted(world: World) -> World:
    """Return a namespace that takes no pod with more rights than it needs."""
    name = f"{world.namespace}-restricted"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels},
    }
    await world.client.create(NAMESPACES, namespace)
    return replace(world, namespace=name)


async def install(world: World, package: str, *values: str) -> None:
    arguments = (
        "install",
        str(EXAMPLES / package),
        "--instance",
        "book",
        *WAIT,
        *set_to(values),
    )
    succeeded(await world.kudo(*arguments))


async def update(world: World, *values: str) -> Done:
    return await world.kudo("update", "--instance", "book", *WAIT, *set_to(values))


async def upgrade(world: World, *values: str) -> None:
    arguments = ("upgrade", str(EXAMPLES / V2), "--instance", "book", *WAIT)
    succeeded(await world.kudo(*arguments, *set_to(values)))


async def trigger(world: World, plan: str) -> None:
    succeeded(await world.kudo("plan", "trigger", "--instance", "book", "--name", plan, *WAIT))


async def uninstall(world: World) -> None:
    succeeded(await world.kudo("uninstall", "--instance", "book", *WAIT))


def set_to(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(argument for value in values for argument in ("-p", value))


def succeeded(done: Done) -> None:
    assert done.code == 0, done.output


async def last_plan(world: World) -> tuple[str, str]:
    """Return the plan that ran last, and how it ended."""
    instance = await world.until_idle("book")
    plan = instance["status"]["lastRun"]["plan"]
    return plan, instances.status_of(instance, plan)


async def until_ready(world: World) -> None:
    await world.until(
        "book", lambda i: instances.ready(i).get("status") == "True", "a ready Instance"
    )


async def page(world: World) -> str:
    return str((await world.get(CONFIG_MAPS, "book-front"))["data"]["index.html"])


async def uid_of(world: World, resource: Resource, name: str) -> str:
    return str((await world.get(resource, name))["metadata"]["uid"])


def test_all_examples_are_found() -> None:
    assert {"first-operator", V1, V2} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_is_found_wrong_with_an_example(package: str) -> None:
    found = verify(read_package(EXAMPLES / package))

    assert [str(finding.problem) for finding in found] == []


@pytest.mark.parametrize("package", [name for name in PACKAGES if name not in REAL])
async def test_an_example_comes_and_goes_where_pods_have_few_rights(
    restricted: World, package: str
) -> None:
    await install(restricted, package)
    instance = await restricted.until_complete("book")
    assert set(instances.steps(instance, "deploy").values()) == {"COMPLETE"}
    await until_ready(restricted)

    await uninstall(restricted)

    texts = [event["message"] for event in await restricted.events()]
    assert "Execution of plan cleanup finished with status COMPLETE" in texts
    for kind in (DEPLOYMENTS, STATEFUL_SETS, JOBS):
        for left in await restricted.all(kind):
            await restricted.until_gone(kind, left["metadata"]["name"])


@pytest.mark.parametrize(
    ("package", "changes"),
    [
        (
            "first-operator",
            {"greeting=Hi": "update", "replicas=3": "deploy", "checkSeconds=1": "check"},
        ),
        (
            V1,
            {
                "title=Visitors": "update",
                "motto=Hello": "update",
                "topics=[Praise]": "update",
                "signing=closed": "update",
                "replicas=1": "deploy",
                "storeResources={}": "deploy",
                "image=busybox:stable": "deploy",
                "counter=true": "extras",
            },
        ),
        (V2, {"maxLength=50": "update", "replicas=1": "deploy", "counter=true": "extras"}),
    ],
)
async def test_a_changed_parameter_runs_the_plan_that_it_names(
    world: World, package: str, changes: dict[str, str]
) -> None:
    await install(world, package)

    ran = {}
    for value in changes:
        succeeded(await update(world, value))
        ran[value] = await last_plan(world)

    assert ran == {value: (plan, "COMPLETE") for value, plan in changes.items()}


@pytest.mark.parametrize("package", [V1, V2])
async def test_values_that_the_guestbook_does_not_take_are_denied(
    world: World, package: str
) -> None:
    await install(world, package, "replicas=1")
    before = (await world.instance("book"))["spec"]
    denied = {
        "port=9090": "parameter 'port' is immutable",
        "storageClass=fast": "parameter 'storageClass' is immutable",
        "signing=maybe": "only allowed values are [open closed]",
        "counter=perhaps": 'type is "boolean"',
        "topics=Praise": 'type is "array"',
        "storeResources=[]": 'type is "map"',
    }

    for value, words in denied.items():
        done = await update(world, value)

        assert done.code == 4
        assert words in done.stderr

    assert (await world.instance("book"))["spec"] == before


async def test_the_array_is_rendered_item_by_item(world: World) -> None:
    await install(world, V1)
    assert topics_on(await page(world)) == ["Anything", "Praise"]

    succeeded(await update(world, "topics=[Complaints, R&D]"))

    assert topics_on(await page(world)) == ["Complaints", "R&amp;D"]


def topics_on(text: str) -> list[str]:
    return re.findall("<option>(.*)</option>", text)


async def test_the_map_becomes_the_resources_of_the_store(world: World) -> None:
    await install(world, V1)
    before = await resources_of_the_store(world)

    succeeded(await update(world, "storeResources={limits: {memory: 48Mi}}"))

    assert before == {
        "requests": {"cpu": "10m", "memory": "8Mi"},
        "limits": {"memory": "32Mi"},
    }
    # What is not in the map any more is taken away; the API server adds requests for limits.
    assert await resources_of_the_store(world) in (
        {"limits": {"memory": "48Mi"}},
        {"limits": {"memory": "48Mi"}, "requests": {"memory": "48Mi"}},
    )


async def resources_of_the_store(world: World) -> Json:
    store = await world.get(STATEFUL_SETS, "book-store")
    found: Json = store["spec"]["template"]["spec"]["containers"][0]["resources"]
    return found


async def test_a_closed_book_cannot_be_signed(world: World) -> None:
    await install(world, V1)
    assert "<form" in await page(world)

    succeeded(await update(world, "signing=closed"))

    assert "<form" not in await page(world)


async def test_the_toggle_applies_all_of_the_counter_and_deletes_all_of_it(world: World) -> None:
    await install(world, V1)
    assert await world.find(DEPLOYMENTS, "book-counter") is None

    succeeded(await update(world, "counter=true"))
    assert (await world.get(DEPLOYMENTS, "book-counter"))["status"]["readyReplicas"] == 1
    assert await world.find(CONFIG_MAPS, "book-counter") is not None

    succeeded(await update(world, "counter=false"))
    assert await world.find(DEPLOYMENTS, "book-counter") is None
    assert await world.find(CONFIG_MAPS, "book-counter") is None


async def test_each_backup_is_a_new_job(world: World) -> None:
    await install(world, V1)

    await trigger(world, "backup")
    first = await uid_of(world, JOBS, "book-backup")
    await trigger(world, "backup")

    assert await uid_of(world, JOBS, "book-backup") != first


async def test_what_is_not_allowed_fails_until_it_is_set_back_and_deployed(world: World) -> None:
    await install(world, V1)

    refused = await update(world, "storageSize=128Mi")
    assert refused.code == 6
    assert "not-allowed" in refused.stderr
    instance = await world.until_failed("book", "not-allowed")
    assert "dummy error" in instances.messages(instance, "not-allowed")
    assert instances.ready(instance)["reason"] == "PlanInFatalError"

    back = await update(world, "storageSize=64Mi")
    assert back.code == 6
    await world.until_failed("book", "not-allowed")
    await trigger(world, "deploy")

    await world.until_complete("book")
    await until_ready(world)
    store = await world.get(STATEFUL_SETS, "book-store")
    volumes = {v["name"]: v for v in store["spec"]["template"]["spec"]["volumes"]}
    assert volumes["data"]["emptyDir"]["sizeLimit"] == "64Mi"


async def test_a_change_that_cannot_come_up_is_cancelled_and_taken_back(world: World) -> None:
    await install(world, V1)
    image = "image=registry.example/never-pulls"
    succeeded(await world.kudo("update", "--instance", "book", "-p", image))
    waits = 'statefulset "book-store" is not healthy'
    await world.until("book", lambda i: waits in instances.messages(i, "deploy"), waits)

    succeeded(await world.kudo("plan", "cancel", "--instance", "book", *WAIT))
    await world.until_failed("book")
    succeeded(await update(world, "image=busybox"))

    assert await last_plan(world) == ("deploy", "COMPLETE")
    await until_ready(world)


async def test_an_upgrade_migrates_keeps_values_and_takes_new_ones(world: World) -> None:
    await install(world, V1, "title=Visitors", "motto=Hello", "counter=true")
    assert "Hello" in await page(world)

    await upgrade(world, "maxLength=100")

    instance = await world.until_complete("book", "upgrade")
    assert instances.steps(instance, "upgrade") == {
        "close.front": "COMPLETE",
        "prepare.network": "COMPLETE",
        "prepare.pages": "COMPLETE",
        "migrate.store": "COMPLETE",
        "migrate.remove-last": "COMPLETE",
        "migrate.migrate": "COMPLETE",
        "open.front": "COMPLETE",
        "open.counter": "COMPLETE",
        "check.remove-last": "COMPLETE",
        "check.ask": "COMPLETE",
    }
    assert instance["spec"]["operatorVersion"] == {"name": "guestbook-0.2.0"}
    await world.until_gone(CONFIG_MAPS, "book-rules")
    text = await page(world)
    assert "Visitors" in text
    assert 'maxlength="100"' in text
    assert "Hello" not in text
    for kind, name in ((STATEFUL_SETS, "book-store"), (DEPLOYMENTS, "book-front")):
        pods = (await world.get(kind, name))["spec"]["template"]["metadata"]
        assert pods["annotations"]["kudo.dev/operator-version"] == "0.2.0"


async def test_after_an_upgrade_all_plans_are_those_of_the_new_version(world: World) -> None:
    await install(world, V1)
    await upgrade(world)

    succeeded(await update(world, "replicas=3"))
    instance = await world.until_complete("book")
    assert instances.steps(instance, "deploy")["check.ask"] == "COMPLETE"
    await trigger(world, "backup")
    await uninstall(world)

    assert await world.find(INSTANCES, "book") is None


async def test_the_migration_runs_each_time_that_the_upgrade_runs(world: World) -> None:
    await install(world, V1)
    await upgrade(world)
    first = await uid_of(world, JOBS, "book-migrate")

    await trigger(world, "upgrade")

    assert await uid_of(world, JOBS, "book-migrate") != first


def test_the_migration_gives_each_entry_one_date(tmp_path: Path) -> None:
    ask(V1, "sign", tmp_path, query="topic=Praise&text=First")
    ask(V2, "migrate", tmp_path)
    ask(V2, "sign", tmp_path, query="topic=Praise&text=" + "x" * 300)
    ask(V2, "migrate", tmp_path)

    book = ask(V2, "book", tmp_path)

    first, second = book.removeprefix("Content-Type: text/plain\n\n").splitlines()
    assert first == "topic=Praise&text=First&date=unknown"
    assert re.fullmatch(r"topic=Praise&text=x{182}&date=\d{4}-\d\d-\d\d", second)


def ask(package: str, script: str, data: Path, *, query: str = "") -> str:
    """Run a script of the store here, as its web server would, on data of our own."""
    objects = to_objects(read_package(EXAMPLES / package), "default")
    version = objects.operator_version
    instance = objects.instance
    values = variables(instance, version, plan="deploy", phase="prepare", step="pages").read()
    [files] = render_objects(("store-files.yaml",), version.spec.templates or {}, values)
    text = str(files.object["data"][script]).replace("/data/", f"{data}/")
    done = subprocess.run(
        ["sh", "-ec", text],
        env={**os.environ, "QUERY_STRING": query},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


async def test_the_way_back_to_the_first_version_is_refused(world: World) -> None:
    await install(world, V2)

    done = await world.kudo("upgrade", str(EXAMPLES / V1), "--instance", "book")

    assert done.code == 255
    assert "not upgrading" in done.stderr


async def test_cleanup_closes_the_front_and_then_takes_a_last_backup(world: World) -> None:
    await install(world, V1)
    await hold(world, "test/look")

    succeeded(await world.kudo("uninstall", "--instance", "book"))
    left = await world.until(
        "book", lambda i: i["metadata"]["finalizers"] == ["test/look"], "the end of cleanup"
    )

    assert instances.steps(left, "cleanup") == {
        "close.front": "COMPLETE",
        "save.remove-last": "COMPLETE",
        "save.copy": "COMPLETE",
    }
    assert await world.find(DEPLOYMENTS, "book-front") is None
    assert (await world.get(JOBS, "book-backup"))["status"]["succeeded"] == 1
    await hold(world)
    await world.until_gone(INSTANCES, "book")


async def hold(world: World, *finalizers: str) -> None:
    """Keep the Instance after its cleanup, or let it go."""
    ours = (await world.instance("book"))["metadata"].get("finalizers", [])
    kept = [name for name in ours if name == FINALIZER_CLEANUP]
    patch = {"metadata": {"finalizers": [*kept, *finalizers]}}
    await world.client.merge_patch(INSTANCES, "book", patch, namespace=world.namespace)


@pytest.mark.parametrize("package", [V1, V2])
async def test_a_storage_class_gives_the_store_a_volume_that_lasts(
    world: World, package: str
) -> None:
    arguments = ("install", str(EXAMPLES / package), "--instance", "book")
    succeeded(await world.kudo(*arguments, "-p", "storageClass=fast", "-p", "storageSize=1Gi"))

    waits = 'statefulset "book-store" is not healthy'
    await world.until("book", lambda i: waits in instances.messages(i, "deploy"), waits)

    store = await world.get(STATEFUL_SETS, "book-store")
    [used] = [v for v in store["spec"]["template"]["spec"]["volumes"] if v["name"] == "data"]
    assert used["persistentVolumeClaim"] == {"claimName": "book-store"}
    claim = await world.get(CLAIMS, "book-store")
    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
    succeeded(await world.kudo("plan", "cancel", "--instance", "book", *WAIT))


async def test_the_volume_of_the_store_is_taken_over_by_a_new_guestbook(world: World) -> None:
    arguments = ("install", str(EXAMPLES / V1), "--instance", "book", "-p", "storageClass=fast")
    succeeded(await world.kudo(*arguments))
    waits = 'statefulset "book-store" is not healthy'
    await world.until("book", lambda i: waits in instances.messages(i, "deploy"), waits)
    before = await uid_of(world, CLAIMS, "book-store")

    await uninstall(world)
    await world.until_gone(STATEFUL_SETS, "book-store")
    succeeded(await world.kudo(*arguments))
    await world.until("book", lambda i: waits in instances.messages(i, "deploy"), waits)

    assert await uid_of(world, CLAIMS, "book-store") == before
    retained = (await world.get(CLAIMS, "book-store"))["metadata"]
    uid = (await world.instance("book"))["metadata"]["uid"]
    assert retained["annotations"]["kudo.dev/retained-by"].endswith(
        f"/book/guestbook/{uid}/adopted"
    )
    assert "ownerReferences" not in retained
