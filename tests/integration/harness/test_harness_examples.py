"""The examples on a cluster: their suites, as a user runs them, and what suites cannot show.

No other test of tests/integration installs them for their own sake; `tests/unit/cli/packages` reads
and renders them.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeio.client import Client
from kubeio.errors import Forbidden
from kubeio.resource import NAMESPACES, PODS
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from kudo.tasks.job import JobNames, job_object, rendered_job
from kudo.tasks.rendering import Engine, render_objects, variables
from tests.integration.harness.whole_suites import files, kudo_test
from tests.support.build import Json
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
REAL = {"galera", "pipe-page"}
"""Their pods must really run, with more rights."""


@pytest.mark.long
async def test_the_suites_of_all_examples_pass(world: World) -> None:
    before = files(EXAMPLES)

    done = await kudo_test(ROOT, "examples/", on=world.installation.cluster)

    assert done.code == 0, done.output
    assert "All 12 cases passed" in done.output
    assert files(EXAMPLES) == before


async def test_pods_of_examples_are_admitted_where_pods_have_few_rights(
    world: World, admin: Client
) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await admin.merge_patch(NAMESPACES, world.namespace, {"metadata": {"labels": labels}})

    async def enforced() -> bool:
        try:
            await create(admin, world, {"containers": [{"name": "main", "image": "busybox"}]})
        except Forbidden as error:
            # The namespace has no account either while it is new.
            return "violates PodSecurity" in error.message
        return False

    await wait_until(enforced, lambda: "pods to be refused")

    admitted = {}
    for file in EXAMPLES.rglob("operator.yaml"):
        if file.parent.name not in REAL:
            for name, spec in pods(file.parent):
                await create(admin, world, spec)
                admitted[file.parent.name, name] = spec

    assert {("first-operator", "Deployment"), ("v1", "StatefulSet"), ("v2", "Job")} <= {*admitted}


async def create(admin: Client, world: World, spec: Json) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}
    await admin.create(PODS, pod, namespace=world.namespace, dry_run=True)


def pods(package: Path) -> Iterator[tuple[str, Json]]:
    """Yield the kind of each workload of a package, and the spec of its pods."""
    objects = to_objects(read_package(package), "default")
    version = objects.operator_version
    values = variables(objects.instance, version, plan="deploy", phase="phase", step="step").read()
    templates = version.spec.templates or {}
    for task in version.spec.tasks or ():
        names = tuple(task.spec.resources or ())
        made = [rendered.object for rendered in render_objects(names, templates, values)]
        if task.spec.job is not None:
            fields = task.spec.job.to_wire()
            # The arguments of a program may have outputs in them, and no place in this test.
            fields.pop("args", None)
            *_, parts = rendered_job(task.name, fields, templates, values, engine=Engine.inline())
            assert parts is not None
            made.append(job_object(parts, JobNames("i", "uid", "deploy", "p", "s", task.name)))
        for obj in made:
            spec = obj.get("spec")
            if isinstance(spec, dict) and "template" in spec:
                yield obj["kind"], spec["template"]["spec"]
