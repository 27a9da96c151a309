"""Operators whose objects have the policy `create`, and what is stored of them; no tests."""

import asyncio
import json

from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo.api import Json
from kudo.objects.dependency_hash import content_digest, dependencies_hash
from tests.support import build
from tests.support.apiserver.server import Request
from tests.unit.reconciler.scenes.scene import (
    SECRETS,
    Scene,
)
from tests.unit.reconciler.upkeep.test_crashes_of_upkeep import Deadly

POLICY, RETAIN, BY = "kudo.dev/apply-policy", "kudo.dev/deletion-policy", "kudo.dev/retained-by"
CRON_JOBS = Resource("batch", "v1", "CronJob", "cronjobs", namespaced=True)
HASH = "kudo.dev/dependencies-hash"
RANDOM = {"stringData": {"password": "{{ randAlphaNum 20 }}"}}


def made(kind: str = "Secret", content: Json = None, **annotations: str) -> str:
    """Return the template of an object that is only created."""
    metadata: JsonObject = {"name": "o", "annotations": {POLICY: "create", **annotations}}
    body = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    return json.dumps(body | (RANDOM if content is None else content))


def user(name: str = "o") -> str:
    """Return the template of a CronJob whose pods mount the Secret."""
    pods = {"volumes": [{"name": "v", "secret": {"secretName": name}}], "containers": []}
    spec = {"schedule": "@daily", "jobTemplate": {"spec": {"template": {"spec": pods}}}}
    metadata = {"name": "user"}
    made = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec}
    return json.dumps(made)


def operator(*tasks: str, **plans: list[str]) -> JsonObject:
    """Return an OperatorVersion with an Apply task `t<n>` for each template, and `delete`."""
    made = [build.task(f"t{n}", "Apply", f"{n}.yaml") for n in range(len(tasks))]
    delete = build.task("delete", "Delete", "0.yaml")
    names = [one["name"] for one in made]
    every = plans or {"deploy": names, "custom": names}
    return build.stored_version(
        parameters=[{"name": "TEXT", "default": "one"}],
        tasks=[*made, delete],
        templates={f"{n}.yaml": text for n, text in enumerate(tasks)},
        plans={name: build.serial(*([one] for one in steps)) for name, steps in every.items()},
    )


def stored(scene: Scene, resource: Resource = SECRETS) -> JsonObject:
    found = scene.stored(resource, "o")
    assert found is not None
    return found


def hashed(scene: Scene) -> str:
    found = scene.stored(CRON_JOBS, "user")
    assert found is not None
    pods = found["spec"]["jobTemplate"]["spec"]["template"]
    return str(pods["metadata"]["annotations"][HASH])


def hash_of_stored(scene: Scene) -> str:
    return dependencies_hash([content_digest(stored(scene))])


def writes(scene: Scene, plural: str = "secrets") -> list[Request]:
    return [
        one for method in ("POST", "PATCH", "PUT") for one in scene.network.sent(method, plural)
    ]


def reads(scene: Scene) -> list[Request]:
    return [one for one in scene.network.sent("GET", "secrets") if one.path.endswith("/secrets/o")]


async def put(scene: Scene, resource: Resource = SECRETS, **metadata: Json) -> JsonObject:
    """Create the object past the reconciler, as somebody who installs nothing yet."""
    of: JsonObject = {"name": "o", "namespace": "ns", **metadata}
    body = {"apiVersion": "v1", "kind": resource.kind, "metadata": of, "data": {"b": "b2xk"}}
    return await scene.admin.create(resource, body, field_manager="somebody")


async def complete(scene: Scene, plan: str = "custom") -> None:
    await asyncio.sleep(10)
    entry = await scene.run("i", plan)
    assert entry["status"] == "COMPLETE", entry
    await asyncio.sleep(10)


def has_killed(network: Deadly) -> bool:
    """Return whether a write was the last one of a process: there may be fewer than expected."""
    return network.left is None


def content_of(obj: JsonObject) -> JsonObject:
    """Return an object without its marks, and what each write changes."""
    metadata = {**obj["metadata"], "annotations": {**obj["metadata"]["annotations"], BY: ""}}
    changing = ("resourceVersion", "managedFields", "generation")
    return {**obj, "metadata": {k: v for k, v in metadata.items() if k not in changing}}


ONE_TASK = [f"{made()}\n---\n{user()}"]
USER_FIRST = [f"{user()}\n---\n{made()}"]
TWO_TASKS = [made(), user()]
RETAINED = {RETAIN: "retain"}
IF_KEEP = made().replace(
    '"kudo.dev/apply-policy": "create"',
    f'"{POLICY}": "create"{{{{ if eq .Params.TEXT "keep" }}}}, "{RETAIN}": "retain"{{{{ end }}}}',
)
