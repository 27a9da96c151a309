"""The whole text of a failing case, as it ends a run: `failing-case.txt`, which the docs show."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubectl_kudo.commands.test.host import HOST
from kudo_harness.failing.explain import explain
from kudo_harness.failing.failed import FailedAssert
from kudo_harness.findings import Findings
from kudo_harness.matching import best_match
from kudo_harness.report import CaseResult, FolderResult, StepResult, SuiteResult, summary
from kudo_harness.suite import DEFAULT_LIMITS
from kudo_harness.suite.documents import read_documents
from tests.unit.cli.fake_api import FakeApi, status
from tests.unit.cli.testing.suites import client_of

JsonObject = dict[str, Any]

DOCS = Path(__file__).parents[4] / "docs" / "testing.md"
GOLDEN = Path(__file__).with_name("failing-case.txt")
START = datetime(2030, 5, 6, 7, 9, 0, tzinfo=UTC)
FILE = "tests/e2e/install/01-assert.yaml"
ASSERT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: pot
spec:
  template:
    spec:
      containers:
      - name: pot
        image: teapot:2.1.0
status:
  readyReplicas: 2
  updatedReplicas: 2
"""


@pytest.fixture
def waiting(installed: FakeApi) -> FakeApi:
    """Return a server on which the Deployment of an Instance waits for a pod."""
    installed.unavailable.add("pot")
    tea = installed.objects["instances", "tea"]
    tea["spec"]["planExecution"] = {"planName": "deploy", "uid": "1"}
    message = 'deployment "pot" is not healthy: 0 of 2 updated pods are available'
    status("IN_PROGRESS", message=message)(tea)
    labels = {"kudo.dev/instance": "tea", "heritage": "kudo"}
    containers = [{"name": "pot", "image": "teapot:2.1.O"}]
    pot = installed.add(
        "deployments",
        {
            "metadata": {"name": "pot", "labels": labels},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "pot"}},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
            "status": {
                "observedGeneration": 1,
                "readyReplicas": 1,
                "replicas": 2,
                "updatedReplicas": 2,
                "conditions": [{"type": "Available", "status": "False"}],
            },
        },
    )
    replica_set = installed.add("replicasets", _owned("pot-7d4b", pot, spec={"replicas": 2}))
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    container = {"name": "pot", "image": "teapot:2.1.O", "ready": False, "state": state}
    phase = {"phase": "Pending", "containerStatuses": [container]}
    installed.add("pods", _owned("pot-7d4b-x2x", replica_set, status=phase))
    installed.add(
        "events",
        {
            "metadata": {"name": "pot.1"},
            "involvedObject": {"kind": "Deployment", "name": "pot", "uid": pot["metadata"]["uid"]},
            "type": "Normal",
            "reason": "ScalingReplicaSet",
            "message": "Scaled up replica set pot-7d4b to 2",
            "lastTimestamp": "2030-05-06T07:08:31Z",
        },
    )
    return installed


def _owned(name: str, owner: JsonObject, **fields: Any) -> JsonObject:
    reference = {
        "apiVersion": "apps/v1",
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    return {"metadata": {"name": name, "ownerReferences": [reference]}, **fields}


async def test_a_failing_case_tells_the_smallest_difference_first(waiting: FakeApi) -> None:
    documents = read_documents(FILE, ASSERT, Findings(), DEFAULT_LIMITS)
    assert documents is not None
    (asserted,) = documents
    pot = waiting.objects["deployments", "pot"]
    failed = FailedAssert(asserted, best_match(asserted, [pot]))
    async with client_of(waiting) as client:
        failure = await explain(HOST, client, "kitchen", failed)
    steps = (
        StepResult("0-install", 1.2, 1),
        StepResult("1-pot", 30.0, 1, failure),
        StepResult("2-upgrade", skipped="an earlier step failed"),
    )
    cases = (
        CaseResult("backup", START, 4.5, (StepResult("0-install", 4.5, 2),)),
        CaseResult("install", START, 31.4, steps),
    )
    folder = FolderResult("tests/e2e", START, 31.4, cases)
    assert summary(SuiteResult("teapot", START, 32.0, (folder,))) == GOLDEN.read_text()


def test_the_docs_show_this_text() -> None:
    assert f"```\n{GOLDEN.read_text()}```\n" in DOCS.read_text()
