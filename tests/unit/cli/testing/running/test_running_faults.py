"""Faults that wait for a state: none that comes after the step has begun is missed."""

import textwrap
from pathlib import Path

from kubectl_kudo.commands.test.host import HOST
from kubeio.resource import CONFIG_MAPS, NAMESPACES, PODS
from kudo_harness.faults.step_faults import StepFaults
from kudo_harness.suite import Fault, SuiteRequest, load_suite
from kudo_harness.target import Target
from tests.support.apiserver.cluster import MemoryCluster

CASE = "case"
PASSING = """\
apiVersion: kuttl.dev/v1beta1
kind: TestStep
faults:
  - deletePods: {labels: {app: db}}
    when:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: state}
      data: {phase: running}
"""


def faults(folder: Path) -> tuple[Fault, ...]:
    step = folder / "e2e" / "a" / "00-a.yaml"
    step.parent.mkdir(parents=True)
    step.write_text(textwrap.dedent(PASSING))
    suite = load_suite(SuiteRequest(test_dirs=(str(folder / "e2e"),)))
    options = suite.test_dirs[0].cases[0].steps[0].options
    assert options is not None
    return options.faults


async def test_a_state_that_passes_at_once_is_seen(tmp_path: Path) -> None:
    memory = MemoryCluster.start()
    client, _ = memory.client()
    await client.create(NAMESPACES, {"metadata": {"name": CASE}})
    state = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "state"}}
    await client.create(CONFIG_MAPS, {**state, "data": {"phase": "new"}}, namespace=CASE)
    container = {"name": "db", "image": "db"}
    pod = {"metadata": {"name": "db", "labels": {"app": "db"}}, "spec": {"containers": [container]}}
    await client.create(PODS, {"apiVersion": "v1", "kind": "Pod", **pod}, namespace=CASE)
    said: list[str] = []
    target = Target(client, tmp_path, programs=(), local=None, faults=True, host=HOST)
    async with StepFaults(faults(tmp_path), target, CASE, said.append) as running:
        await running.before(20)
        for phase in ("running", "over"):
            patch = {"data": {"phase": phase}}
            await client.merge_patch(CONFIG_MAPS, "state", patch, namespace=CASE)
        await running.after(20)
    assert said == ["fault: 1 pod with app=db deleted"]
