"""What failed asserts tell on a real API server, and which kinds it serves."""

from pathlib import Path

import pytest

from kubectl_kudo.commands.test.host import HOST
from kubeio.client import Client
from kubeio.connection.auth import Identity
from kubeio.resource import Resource
from kudo_harness.checks.fields import check_fields
from kudo_harness.checks.kinds import check_kinds, known_kinds
from kudo_harness.expressions import Expressions
from kudo_harness.failing.explain import explain, explain_expressions
from kudo_harness.failing.failed import FailedAssert
from kudo_harness.findings import Findings, Place
from kudo_harness.matching import best_match
from kudo_harness.report import Failure
from kudo_harness.suite import (
    DEFAULT_LIMITS,
    AssertOptions,
    Document,
    ResourceRef,
    SuiteRequest,
    Text,
    load_suite,
)
from kudo_harness.suite.documents import read_documents
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.world import World

DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
FILE = "e2e/install/01-assert.yaml"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
status:
  readyReplicas: 1
"""
INSTANCE = """\
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata:
  name: web
status:
  planStatus:
    deploy:
      status: COMPLETE
"""
CAUSE = "container main: ImagePullBackOff: image"


def never_pulls() -> Json:
    web = build.deployment("web")
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "never-pulls"
    return web


VERSION = build.operator_version(
    "shop-1",
    templates={"app.yaml": build.template(never_pulls())},
    plans={"deploy": build.plan({"all": ["app"]})},
    operator="shop",
)


@pytest.fixture
async def waiting(world: World, admin: Client) -> World:
    """Return a namespace with an Instance that waits for a pod whose image cannot be pulled."""
    done = await world.apply(VERSION, build.instance("web", "shop-1"))
    assert done.code == 0, done.output
    await world.until("web", lambda one: CAUSE in str(one.get("status")), "a pod without image")
    return world


def document(text: str) -> Document:
    documents = read_documents(FILE, text, Findings(), DEFAULT_LIMITS)
    assert documents is not None
    return documents[0]


async def explained(client: Client, namespace: str, text: str, *candidates: Json) -> Failure:
    asserted = document(text)
    failed = FailedAssert(asserted, best_match(asserted, candidates))
    return await explain(HOST, client, namespace, failed)


async def test_a_deployment_of_an_instance_tells_pods_events_and_plan(
    waiting: World, admin: Client
) -> None:
    web = await admin.get(DEPLOYMENTS, "web", namespace=waiting.namespace)
    failure = await explained(admin, waiting.namespace, DEPLOYMENT, web)
    assert failure.message == (
        f"{FILE}:6: Deployment web: .status.readyReplicas: key is missing from map, expected: 1"
    )
    assert "\n  > status:\n      conditions:\n" in failure.details
    assert "managedFields" not in failure.details
    assert "last-applied-configuration" not in failure.details
    assert "\nEvents of Deployment web:\n" in failure.details
    assert " Normal ScalingReplicaSet: Scaled up replica set web-" in failure.details
    assert f"\nPods of Deployment web:\n  pod {waiting.namespace}/web-" in failure.details
    assert "\nPlan of Instance web:\n" in failure.details
    assert "── Plan deploy (serial strategy) [IN_PROGRESS]" in failure.details


async def test_an_instance_tells_its_plan_as_plan_status_prints_it(
    waiting: World, admin: Client
) -> None:
    web = await waiting.instance("web")
    failure = await explained(admin, waiting.namespace, INSTANCE, web)
    assert failure.message == (
        f"{FILE}:8: Instance web: .status.planStatus.deploy.status: value mismatch, expected: "
        "COMPLETE != actual: IN_PROGRESS"
    )
    printed = await waiting.kudo("plan", "status", "--instance", "web")
    tree = failure.details.partition("Plan of Instance web:\n")[2]
    for line in printed.stdout.splitlines()[:5]:
        assert line.partition(", last updated")[0] in tree
    assert f"pod {waiting.namespace}/web-" in tree


async def test_a_missing_object_tells_names_and_the_plan_that_is_not_complete(
    waiting: World, admin: Client
) -> None:
    missing = DEPLOYMENT.replace("name: web", "name: wep")
    failure = await explained(admin, waiting.namespace, missing)
    assert failure.message == (
        f"{FILE}:4: Deployment wep does not exist in namespace {waiting.namespace}"
    )
    assert "There is instead:\n  Deployment web\n" in failure.details
    assert "Plans that are not COMPLETE:\n" in failure.details
    other = await explained(admin, waiting.namespace, DEPLOYMENT.replace("Deployment", "DaemonSet"))
    assert "There is elsewhere:\n" in other.details
    assert "  Deployment web (apps/v1)\n" in other.details
    assert "  Instance web (kudo.dev/v1beta1)" in other.details


async def test_who_may_read_nothing_is_told_the_difference_all_the_same(
    waiting: World, admin: Client
) -> None:
    web = await admin.get(DEPLOYMENTS, "web", namespace=waiting.namespace)
    nobody = admin.acting(Identity("nobody"))
    failure = await explained(nobody, waiting.namespace, DEPLOYMENT, web)
    assert failure.message.startswith(f"{FILE}:6: Deployment web: .status.readyReplicas: ")
    assert failure.details.startswith("Deployment web as it is (> differs):\n    …")
    for section in ("Events of Deployment web", "Pods of Deployment web", "Plan of Instance web"):
        assert f"\n{section}:\n  (cannot be read: " in failure.details
    missing = await explained(nobody, waiting.namespace, DEPLOYMENT)
    assert "There is instead:\n  (cannot be read: deployments.apps is forbidden" in missing.details


async def test_expressions_tell_values_and_objects(waiting: World, admin: Client) -> None:
    place = Place(FILE, 9)
    ref = ResourceRef("kudo.dev/v1beta1", "Instance", "web", "", "shop", place)
    text = Text("shop.status.planStatus.deploy.status == 'COMPLETE'", place)
    options = AssertOptions(0, (), (), (ref,), (text,), (), None, place)
    findings = Findings()
    objects = {"shop": await waiting.instance("web")}
    failed = Expressions.compile(options, findings).evaluate(objects)
    assert findings.kept == []
    failure = await explain_expressions(HOST, admin, waiting.namespace, failed, objects)
    assert failure.message == (
        f"{FILE}:9: shop.status.planStatus.deploy.status == 'COMPLETE': is false "
        "(shop.status.planStatus.deploy.status is IN_PROGRESS)"
    )
    assert "Plan of Instance web:\n" in failure.details


async def test_a_suite_for_old_versions_is_told_the_present_ones(
    world: World, admin: Client, tmp_path: Path
) -> None:
    case = tmp_path / "e2e" / "old"
    case.mkdir(parents=True)
    (case / "00-assert.yaml").write_text(DEPLOYMENT.replace("apps/v1", "extensions/v1beta1"))
    (case / "01-assert.yaml").write_text(INSTANCE)
    suite = load_suite(SuiteRequest(test_dirs=(str(tmp_path / "e2e"),)))
    findings = Findings()
    check_kinds(suite, await known_kinds(admin), findings, kudo_installed=False)
    assert [str(one) for one in findings.sorted()] == [
        (
            f"{case}/00-assert.yaml:1: the cluster has no kind Deployment in extensions/v1beta1, "
            "so an assert of it can never match; the cluster has Deployment in apps/v1"
        )
    ]


async def test_asserts_that_no_object_can_match_are_warnings(
    world: World, admin: Client, tmp_path: Path
) -> None:
    case = tmp_path / "e2e" / "typing"
    case.mkdir(parents=True)
    deployment = DEPLOYMENT.replace("readyReplicas: 1", "readyReplica: 1\n  replicas: '1'")
    (case / "00-assert.yaml").write_text(deployment)
    (case / "01-errors.yaml").write_text(INSTANCE.replace("planStatus", "planstatus"))
    pod = "apiVersion: v1\nkind: Pod\nspec: {containers: [{resources: {limits: {cpu: 1}}}]}\n"
    (case / "02-assert.yaml").write_text(f"{pod}---\n{DEPLOYMENT}---\n{INSTANCE}")
    suite = load_suite(SuiteRequest(test_dirs=(str(tmp_path / "e2e"),)))
    findings = Findings()
    await check_fields(admin, suite, await known_kinds(admin), findings)
    assert not findings.failed
    assert [str(one) for one in findings.sorted()] == [
        (
            f"{case}/00-assert.yaml:6: .status of Deployment has no field readyReplica, so this "
            "can never match; did you mean readyReplicas?"
        ),
        (
            f"{case}/00-assert.yaml:7: .status.replicas of Deployment is of type integer, and the "
            'text "1" is not, so this can never match'
        ),
        (
            f"{case}/01-errors.yaml:6: .status of Instance has no field planstatus, so this can "
            "never match; did you mean planStatus?"
        ),
    ]
