"""`kubectl kudo` from install to uninstall, against a cluster where KUDO runs."""

import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from kubeio.resource import Resource
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.clients import new_namespace
from tests.support.cluster.resources import CONFIG_MAPS, DEPLOYMENTS, INSTANCES, OPERATORS, VERSIONS
from tests.support.cluster.world import World

pytestmark = pytest.mark.smoke

FIRST_OPERATOR = Path(__file__).resolve().parents[3] / "examples" / "first-operator"
SERVICES = Resource("", "v1", "Service", "services", namespaced=True)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of the example, to change."""
    return Path(shutil.copytree(FIRST_OPERATOR, tmp_path / "first-operator"))


async def install(world: World, package: Path = FIRST_OPERATOR, *arguments: str) -> None:
    done = await world.kudo("install", str(package), "--instance", "hello", "--wait", *arguments)
    assert done.code == 0, done.output


async def test_install_waits_until_the_deploy_plan_is_complete(world: World) -> None:
    done = await world.kudo("install", str(FIRST_OPERATOR), "--instance", "hello", "--wait")

    assert done.code == 0, done.output
    assert done.stdout.splitlines() == [
        f"operator {world.namespace}/first-operator created",
        f"operatorversion {world.namespace}/first-operator-0.1.0 created",
        f"instance {world.namespace}/hello created",
        f"instance {world.namespace}/hello ready",
    ]
    assert instances.status_of(await world.instance("hello"), "deploy") == "COMPLETE"


async def test_install_reads_an_archive_like_a_folder(world: World, tmp_path: Path) -> None:
    archive = tmp_path / "first-operator-0.1.0.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(FIRST_OPERATOR, arcname=".")

    await install(world, archive, "-p", "replicas=1")

    assert (await world.get(DEPLOYMENTS, "hello"))["spec"]["replicas"] == 1


def comparable(obj: Json) -> Json:
    """Leave out what must differ between two installations."""
    text = json.dumps({key: value for key, value in obj.items() if key != "status"})
    kept: Json = json.loads(text)
    metadata = kept["metadata"]
    for key in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace"):
        metadata.pop(key, None)
    annotations = metadata.pop("annotations", {})
    annotations.pop("kudo.dev/last-plan-execution-uid", None)
    annotations.pop("kubectl.kubernetes.io/last-applied-configuration", None)
    if annotations:
        metadata["annotations"] = annotations
    for owner in metadata.get("ownerReferences", []):
        owner.pop("uid")
    for key in ("clusterIP", "clusterIPs"):
        kept.get("spec", {}).pop(key, None)
    return kept


async def test_plain_kubectl_apply_does_the_same_as_the_command_line(world: World) -> None:
    await install(world)
    plain = replace(world, namespace=await new_namespace(world.client))
    objects = to_objects(read_package(FIRST_OPERATOR), plain.namespace)
    instance = objects.instance.to_wire()
    instance["metadata"]["name"] = "hello"

    done = await plain.apply(
        objects.operator.to_wire(), objects.operator_version.to_wire(), instance
    )
    assert done.code == 0, done.output
    await plain.until_complete("hello")

    for kind in (DEPLOYMENTS, SERVICES, INSTANCES):
        first, second = await world.get(kind, "hello"), await plain.get(kind, "hello")
        assert comparable(second) == comparable(first)
    pages = [await where.get(CONFIG_MAPS, "hello-page") for where in (world, plain)]
    assert comparable(pages[0]) == comparable(pages[1])
    runs = [await where.instance("hello") for where in (world, plain)]
    assert instances.steps(runs[0], "deploy") == instances.steps(runs[1], "deploy")


async def test_update_runs_the_plan_and_waits_for_that_run(world: World) -> None:
    await install(world)
    before = instances.entry(await world.instance("hello"), "deploy")["uid"]

    done = await world.kudo("update", "--instance", "hello", "-p", "replicas=3", "--wait")

    assert done.code == 0, done.output
    assert "Instance hello was updated." in done.stdout.splitlines()
    after = await world.instance("hello")
    assert instances.entry(after, "deploy")["uid"] != before
    assert instances.status_of(after, "deploy") == "COMPLETE"
    assert (await world.get(DEPLOYMENTS, "hello"))["spec"]["replicas"] == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("update", "--instance", "hello", "-p", "port=9090"), "parameter 'port' is immutable"),
        (
            ("plan", "trigger", "--instance", "hello", "--name", "cleanup"),
            "only the controller schedules the 'cleanup' plan",
        ),
        (("update", "--instance", "hello", "-p", "replicas=many"), 'invalid value "many"'),
        (("update", "--instance", "hello", "-p", "nope=1"), 'failed to find parameter "nope"'),
        (("plan", "trigger", "--instance", "hello", "--name", "nope"), "plan nope does not exist"),
    ],
)
async def test_what_the_webhook_denies_is_told_with_its_reason(
    world: World, arguments: tuple[str, ...], words: str
) -> None:
    await install(world)
    before = (await world.instance("hello"))["spec"]

    done = await world.kudo(*arguments)

    assert done.code == 4
    assert done.stderr.startswith("Error: ")
    assert words in done.stderr
    assert (await world.instance("hello"))["spec"] == before


async def test_plan_trigger_waits_and_a_second_plan_is_denied_meanwhile(world: World) -> None:
    await install(world)
    await world.kudo("plan", "trigger", "--instance", "hello", "--name", "check")

    second = await world.kudo("plan", "trigger", "--instance", "hello", "--name", "deploy")
    waited = await world.kudo("plan", "status", "--instance", "hello", "--wait")

    assert second.code == 4
    assert "plan 'check'" in second.stderr
    assert waited.code == 0, waited.output
    assert "Plan check (serial strategy) [COMPLETE]" in waited.stdout


async def test_uninstall_waits_until_cleanup_has_run_and_the_instance_is_gone(
    world: World,
) -> None:
    await install(world)

    done = await world.kudo("uninstall", "--instance", "hello", "--wait")

    assert done.code == 0, done.output
    assert "instance.kudo.dev/v1beta1/hello deleted" in done.stdout
    assert await world.find(INSTANCES, "hello") is None
    texts = [event["message"] for event in await world.events()]
    assert "Execution of plan cleanup finished with status COMPLETE" in texts


async def test_waiting_ends_at_once_when_the_plan_fails(world: World, package: Path) -> None:
    broken = build.template(build.config_map("Not A Name"))
    (package / "templates" / "page.yaml").write_text(broken, encoding="utf-8")

    found = await world.kudo("install", str(package), "--instance", "hello", "--wait")
    assert found.code == 5
    assert 'ConfigMap "Not A Name" cannot have this name' in found.stderr
    assert await nothing_created(world)

    arguments = ("--instance", "hello", "--wait", "--skip-verify")
    done = await world.kudo("install", str(package), *arguments)

    assert done.code == 6
    assert "deploy.prepare.page" in done.stderr
    assert "failed to apply ConfigMap Not A Name of template page.yaml" in done.stderr


async def nothing_created(world: World) -> bool:
    return not [
        found for kind in (OPERATORS, VERSIONS, INSTANCES) for found in await world.all(kind)
    ]


async def test_an_unreadable_package_installs_nothing(world: World, tmp_path: Path) -> None:
    archive = tmp_path / "broken.tgz"
    archive.write_bytes(b"this is no archive")

    missing = await world.kudo("install", str(tmp_path / "nowhere"), "--instance", "hello")
    broken = await world.kudo("install", str(archive), "--instance", "hello")

    assert (missing.code, broken.code) == (3, 255)
    assert str(tmp_path / "nowhere") in missing.stderr
    assert "broken.tgz" in broken.stderr
    assert "Traceback" not in missing.stderr + broken.stderr
    assert await nothing_created(world)


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("operator.yaml", "- page.yaml", "- nope.yaml", "task page missing template: nope.yaml"),
        ("operator.yaml", "kind: Apply", "kind: Aply", "unknown task kind Aply"),
        ("operator.yaml", "plans:", "plans: [", "operator.yaml"),
    ],
)
async def test_a_faulty_package_installs_nothing(
    world: World, package: Path, file: str, old: str, new: str, words: str
) -> None:
    text = (package / file).read_text(encoding="utf-8")
    assert old in text
    (package / file).write_text(text.replace(old, new), encoding="utf-8")

    done = await world.kudo("install", str(package), "--instance", "hello")

    assert done.code == 255
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert await nothing_created(world)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("replicas=many", "replicas"),
        ("nope=1", "nope"),
        ("replicas", "parameter not set: replicas"),
    ],
)
async def test_bad_parameters_install_nothing(world: World, given: str, words: str) -> None:
    done = await world.kudo("install", str(FIRST_OPERATOR), "--instance", "hello", "-p", given)

    assert done.code in {2, 4}
    assert words in done.stderr
    assert await nothing_created(world)


async def test_a_missing_required_parameter_installs_nothing(world: World, package: Path) -> None:
    params = yaml.safe_load((package / "params.yaml").read_text(encoding="utf-8"))
    params["parameters"].append({"name": "TOKEN", "required": True})
    (package / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")

    done = await world.kudo("install", str(package), "--instance", "hello")

    assert done.code == 4
    assert "missing required parameters during installation: TOKEN" in done.stderr
    assert await nothing_created(world)


async def test_data_goes_to_stdout_as_json_and_yaml(world: World) -> None:
    await install(world)

    status = await world.kudo("plan", "status", "--instance", "hello", "-o", "json")
    listing = await world.kudo("get", "instances", "-o", "yaml")

    assert json.loads(status.stdout)["planStatus"]["deploy"]["status"] == "COMPLETE"
    [listed] = [item for item in yaml.safe_load_all(listing.stdout) if item]
    assert listed["metadata"]["name"] == "hello"


async def test_installing_twice_says_that_the_instance_exists(world: World) -> None:
    await install(world)

    again = await world.kudo("install", str(FIRST_OPERATOR), "--instance", "hello")

    assert again.code == 255
    text = "cannot install instance 'hello' because an instance of that name already exists"
    assert f"{text} in namespace {world.namespace}" in again.stderr


async def test_two_instances_of_one_version_stand_beside_each_other(world: World) -> None:
    await install(world)

    second = await world.kudo("install", str(FIRST_OPERATOR), "--instance", "again", "--wait")

    assert second.code == 0, second.output
    assert (
        f"operatorversion {world.namespace}/first-operator-0.1.0 already installed" in second.stdout
    )
    for name in ("hello", "again"):
        instance = await world.until(name, instances.idle, "an idle Instance")
        assert not instances.scheduled(instance)
        assert instances.ready(instance)["status"] == "True"
