"""Job and Check tasks in strict mode, with the rights that `kubectl kudo rbac` prints, or less.

The API server itself refuses what an account may not do.
"""

import json
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.integration.tenancy.admin import as_admin
from tests.integration.tenancy.test_examples_in_strict import tenant
from tests.support import instances
from tests.support.build import Json
from tests.support.cluster.resources import JOBS
from tests.support.cluster.world import World

__all__ = ["tenant"]

OPERATOR: Final = """\
name: shop
operatorVersion: 0.1.0
kudoVersion: 0.20.0
kubernetesVersion: 1.30.0
plans:
  deploy:
    steps:
      - name: count
        job: {command: [count], podTemplate: pod.yaml, outputs: [rows]}
      - name: one
        check:
          apiVersion: v1
          kind: Service
          name: kubernetes-api
          until: self.spec.externalName == "rows-" + outputs.count.rows
      - name: all
        check: {apiVersion: v1, kind: ConfigMap, selector: {of: shop}, until: objects.size() == 1}
"""
POD: Final = """\
metadata: {annotations: {kwok.kudo.dev/termination-message: '{"rows": "2"}'}}
spec: {containers: [{name: main, image: busybox}]}
"""
OF_OTHERS: Final[list[Json]] = [
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes-api"},
        "spec": {"type": "ExternalName", "externalName": "rows-2"},
    },
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": {"of": "shop"}}},
]
PRINTED: Final = {
    "batch/jobs": {"create", "delete", "get", "list"},
    "/pods": {"get", "list"},
    "/services": {"get"},
    "/configmaps": {"list"},
    "kudo.dev/instances/finalizers": {"update"},
}
ACCOUNT: Final = ("--instance", "shop", "--service-account", "cook")
WAIT: Final = ("--wait", "--wait-time", "90s")


@pytest.fixture
async def package(tenant: World, tmp_path: Path) -> str:
    """Write the package, and what its Checks look at."""
    files = {"operator.yaml": OPERATOR, "params.yaml": "parameters: []", "templates/pod.yaml": POD}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    await apply(tenant, OF_OTHERS)
    return str(tmp_path)


async def apply(world: World, objects: list[Json]) -> None:
    text = "".join(f"---\n{json.dumps(one)}\n" for one in objects)
    done = await as_admin(world, "kubectl", "apply", "-f", "-", text=text)
    assert done.code == 0, done.output


async def printed(world: World, package: str) -> list[Json]:
    """Return the objects that `rbac` prints for an account of the package."""
    argv = ("rbac", package, "--instance-name", "shop", "--service-account", "cook")
    done = await world.kudo(*argv)
    assert done.code == 0, done.output
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def without(objects: list[Json], resource: str, verb: str) -> list[Json]:
    """Return objects with a verb less in the rule of a resource, which has it."""
    found: list[Json] = json.loads(json.dumps(objects))
    (role,) = (one for one in found if one["kind"] == "Role")
    (rule,) = (rule for rule in role["rules"] if resource in rule["resources"])
    rule["verbs"].remove(verb)
    role["rules"] = [rule for rule in role["rules"] if rule["verbs"]]
    return found


async def test_a_plan_of_jobs_and_checks_is_complete_with_what_is_printed(
    tenant: World, package: str
) -> None:
    objects = await printed(tenant, package)
    (role,) = (one for one in objects if one["kind"] == "Role")
    rules = {
        f"{rule['apiGroups'][0]}/{rule['resources'][0]}": {*rule["verbs"]} for rule in role["rules"]
    }
    assert rules == PRINTED
    await apply(tenant, objects)
    done = await tenant.kudo("install", package, *ACCOUNT, *WAIT)
    assert done.code == 0, done.output
    instance = await tenant.until_complete("shop")
    assert instance["status"]["lastRun"]["serviceAccountName"] == "cook"
    # The account deletes the Job of a former run once there is a newer one that has ended.
    done = await tenant.kudo("plan", "trigger", "--instance", "shop", "--name", "deploy", *WAIT)
    assert done.code == 0, done.output
    assert len(await tenant.all(JOBS)) == 1


@pytest.mark.parametrize(
    ("resource", "verb", "step"),
    [
        ("jobs", "list", "count"),
        ("jobs", "create", "count"),
        ("pods", "list", "count"),
        ("services", "get", "one"),
        ("configmaps", "list", "all"),
    ],
)
async def test_a_task_waits_for_a_right_that_lacks_and_names_it(
    tenant: World, package: str, resource: str, verb: str, step: str
) -> None:
    objects = await printed(tenant, package)
    await apply(tenant, without(objects, resource, verb))
    done = await tenant.kudo("install", package, *ACCOUNT)
    assert done.code == 0, done.output
    user = f"system:serviceaccount:{tenant.namespace}:cook"
    lacks = f'User "{user}" cannot {verb} resource "{resource}"'

    def waits(instance: Json) -> bool:
        return (
            instances.status_of(instance, "deploy") == "IN_PROGRESS"
            and instances.steps(instance, "deploy")[f"main.{step}"] == "ERROR"
            and lacks in instances.messages(instance, "deploy")
        )

    await tenant.until("shop", waits, f"a message with {lacks!r}")
    await apply(tenant, objects)
    await tenant.until_complete("shop")
