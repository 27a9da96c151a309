"""Objects of every kind that operators consist of are taken over without a change to them.

Much of them may not be changed once they exist: claims of StatefulSets, templates of Jobs, claims.
"""

from collections.abc import AsyncIterator

import pytest

from kubeio.client import Client
from kubeio.resource import Resource
from tests.integration.takeover.operator_of_old import version_of_old
from tests.integration.takeover.original import INSTANCE, LAST_APPLIED, RESOURCES
from tests.integration.takeover.watching import (
    Watcher,
    original_in_charge,
    run_to_end,
    settled,
)
from tests.support.build import Json
from tests.support.cluster.resources import JOBS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

VOLUMES = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
_POD = """
    metadata:
      labels: {app: %(name)s}
    spec:
      containers:
      - name: main
        image: busybox
        command: [sh, -c, "true"]
        ports:
        - {containerPort: 80}
        readinessProbe:
          tcpSocket: {port: 80}
        volumeMounts:
        - {name: scratch, mountPath: /tmp}
      volumes:
      - {name: scratch, emptyDir: {}}
"""


def workload(kind: str, name: str, spec: str) -> str:
    pod = _POD % {"name": name}
    return (
        f"apiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: {name}\nspec:\n"
        f"  selector:\n    matchLabels: {{app: {name}}}\n{spec}  template:{pod}"
    )


_PLAIN = """
apiVersion: v1
kind: ConfigMap
metadata: {name: binary}
data: {text: a}
binaryData: {bytes: AAEC}
---
apiVersion: v1
kind: Secret
metadata: {name: typed}
type: kubernetes.io/basic-auth
data: {username: a3Vkbw==, password: c2VjcmV0}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: account}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests: {storage: 1Gi}
---
apiVersion: v1
kind: Service
metadata: {name: headless}
spec:
  clusterIP: None
  selector: {app: stateful}
  ports:
  - {name: http, port: 80}
---
apiVersion: v1
kind: Service
metadata: {name: reachable}
spec:
  type: NodePort
  selector: {app: stateful}
  ports:
  - {name: http, port: 80, targetPort: http}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budget}
spec:
  minAvailable: 1
  selector:
    matchLabels: {app: stateful}
"""
_CLAIMS = """  serviceName: headless
  podManagementPolicy: Parallel
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      accessModes: [ReadWriteOnce]
      resources:
        requests: {storage: 1Gi}
"""
_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  backoffLimit: 2
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: busybox}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: daily}
spec:
  schedule: "@daily"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: OnFailure
          containers:
          - {name: main, image: busybox}
"""
VERSION = version_of_old(
    templates={
        "plain.yaml": _PLAIN,
        "jobs.yaml": _JOB,
        "stateful.yaml": workload("StatefulSet", "stateful", _CLAIMS),
        "daemons.yaml": workload("DaemonSet", "daemons", ""),
        "stateless.yaml": workload("Deployment", "stateless", "  replicas: 1\n"),
    },
    deploy=["plain.yaml", "jobs.yaml", "stateful.yaml", "daemons.yaml", "stateless.yaml"],
)
_SERVER_METADATA = {"managedFields", "resourceVersion", "generation", "annotations"}
_NAMESPACED = [resource for resource in RESOURCES.values() if resource.namespaced]


async def applied(watcher: Watcher, resource: Resource) -> dict[str, Json]:
    """Return the objects of the Instance by name."""
    return {
        obj["metadata"]["name"]: obj
        for obj in await watcher.all(resource)
        if (obj["metadata"].get("labels") or {}).get("kudo.dev/instance") == INSTANCE
        and LAST_APPLIED in (obj["metadata"].get("annotations") or {})
    }


def unchanged(obj: Json) -> Json:
    """Return what a run may not change: all but the status and what the server counts."""
    metadata = {k: v for k, v in obj["metadata"].items() if k not in _SERVER_METADATA}
    return {**{k: v for k, v in obj.items() if k != "status"}, "metadata": metadata}


@pytest.fixture
async def volumes(world: World, admin: Client) -> AsyncIterator[None]:
    """Provide a volume for each claim, since nothing in the cluster makes one."""
    names = {claim: f"{claim}-{world.namespace}" for claim in ("claim", "data-stateful-0")}
    for claim, name in names.items():
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/tmp/none"},
            "claimRef": {"namespace": world.namespace, "name": claim},
        }
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}}
        await admin.create(VOLUMES, {**volume, "spec": spec})
    yield
    for name in names.values():
        await admin.delete(VOLUMES, name)


@pytest.mark.usefixtures("volumes")
async def test_every_kind_is_taken_over_as_it_is(world: World, admin: Client) -> None:
    watcher = Watcher(admin, world.namespace)

    async def job_done() -> bool:
        return bool((await watcher.get(JOBS, "once"))["status"].get("succeeded"))

    async with original_in_charge(world, admin) as original:
        await original.install(VERSION)
        await watcher.workloads()
        await wait_until(job_done, lambda: "the Job")
        before = {resource: await applied(watcher, resource) for resource in _NAMESPACED}
    assert sum(map(len, before.values())) == 12
    await settled(world)

    await run_to_end(world, admin, {"planExecution": {"planName": "deploy"}})

    for resource, objects in before.items():
        for name, obj in objects.items():
            now = await watcher.get(resource, name)
            assert unchanged(now) == unchanged(obj)
            managers = {(e["manager"], e["operation"]) for e in now["metadata"]["managedFields"]}
            assert ("kudo", "Apply") in managers
            assert ("manager", "Update") not in managers
