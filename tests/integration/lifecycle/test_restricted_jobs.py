"""The pods of Job tasks on a cluster that admits restricted ones alone."""

import json

from kubeio.client import Client
from kubeio.resource import Resource
from tests.support import build
from tests.support.cluster.changes import as_admin
from tests.support.cluster.world import World

NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
POD = {"spec": {"initContainers": [{"name": "prepare", "image": "busybox"}]}}


async def test_a_pod_security_that_admits_restricted_pods_admits_those_of_job_tasks(
    world: World, admin: Client
) -> None:
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    await admin.merge_patch(NAMESPACES, world.namespace, {"metadata": {"labels": label}})
    job = {
        "script": "scripts/a.sh",
        "args": ["{{ .Name }}"],
        "image": "busybox",
        "podTemplate": "pod.yaml",
        "volumes": [{"name": "data", "emptyDir": {}}],
        "mounts": [{"name": "data", "mountPath": "/data"}],
    }
    version = build.operator_version(
        "v",
        templates={"scripts/a.sh": "echo $1 $(date)\n", "pod.yaml": json.dumps(POD)},
        tasks=[build.task("run", "Job", job=job)],
        plans={"deploy": build.plan({"run": ["run"]})},
    )
    done = await world.apply(version, build.instance("i", "v"))
    assert done.code == 0, done.output

    await world.until_complete("i")

    [found] = json.loads(await as_admin(world, "get", "pods", "-o=json"))["items"]
    assert found["metadata"]["labels"]["kudo.dev/job-of"] == "run"
    [main] = found["spec"]["containers"]
    assert main["command"] == ["/bin/sh", "-c", "echo $1 $$(date)\n", "scripts/a.sh", "i"]
