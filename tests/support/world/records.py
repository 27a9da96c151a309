"""What the Inventories of an Instance say, and operators whose versions apply different objects."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import Resource
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.changes import edit
from tests.support.cluster.interface import World
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.waiting import wait_until

INVENTORIES = Resource("kudo.dev", "v1beta1", "Inventory", "inventories", namespaced=True)
SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
PRUNE = "kudo.dev/prune-requested-at"
ADOPT = "kudo.dev/adopt-requested-at"
RETAIN = {"kudo.dev/deletion-policy": "retain"}
PRUNABLE = {"kudo.dev/prune": "true"}


# Objects and operators


def config(suffix: str, *, only_if: str = "", **annotations: str) -> str:
    """Return a ConfigMap `<Instance>-<suffix>`; `only_if` is a parameter that must be "yes"."""
    made = build.config_map(f"{{{{ .Name }}}}-{suffix}", text=suffix)
    made["metadata"]["annotations"] = {key.replace("_", "/"): v for key, v in annotations.items()}
    text = build.template(made)
    return f'{{{{ if eq .Params.{only_if} "yes" }}}}\n{text}\n{{{{ end }}}}' if only_if else text


def annotated(obj: Json, annotations: Mapping[str, str]) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "annotations": dict(annotations)}}


def claim(name: str) -> Json:
    """Return a PersistentVolumeClaim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Mi"}},
        },
    }


def secret(name: str, **data: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": data,
    }


def version(
    name: str,
    tasks: Mapping[str, Sequence[Json | str]],
    plans: Mapping[str, Sequence[str]] | None = None,
    *,
    others: Sequence[Json] = (),
    parameters: Sequence[Json] = (),
    prune: bool | None = None,
    operator: str = "op",
) -> Json:
    """Return an OperatorVersion.

    Args:
        name: Of the object.
        tasks: The objects that each Apply task applies.
        plans: The tasks of each plan, in a step of their own; by default `deploy` has all.
        others: Further tasks; the template of an Apply task is the one `<task>.yaml`.
        parameters: Of the operator.
        prune: `spec.prune`.
        operator: The name of the operator.
    """
    files = {f"{task}.yaml": build.template(*objects) for task, objects in tasks.items()}
    applied = [build.task(task, "Apply", f"{task}.yaml") for task in tasks]
    of_plans = {"deploy": list(tasks)} if plans is None else plans
    made = build.operator_version(
        name,
        templates=files,
        tasks=[*applied, *others],
        plans={
            plan: build.plan({f"step-{one}": [one] for one in names})
            for plan, names in of_plans.items()
        },
        parameters=parameters,
        operator=operator,
    )
    return made if prune is None else {**made, "spec": {**made["spec"], "prune": prune}}


# What a user does


async def install(world: World, *of: Json, name: str = "i", **parameters: str) -> Json:
    """Make an Instance of the last of these versions, and return it when it is deployed."""
    made = build.instance(name, of[-1]["metadata"]["name"], **parameters)
    done = await world.apply(*of, made)
    assert done.code == 0, done.output
    return await world.until_complete(name)


async def upgrade(world: World, to: Json, name: str = "i") -> Json:
    """Let an Instance have another version; return it when the plan of that is COMPLETE."""
    done = await world.apply(to)
    assert done.code == 0, done.output
    return await change(world, name, operatorVersion={"name": to["metadata"]["name"]})


async def run(world: World, plan: str, name: str = "i") -> Json:
    return await change(world, name, planExecution={"planName": plan, "uid": ""})


async def change(world: World, name: str = "i", **spec: Any) -> Json:
    """Change the spec of an Instance; return it when the plan of that is COMPLETE."""
    return await until_done(world, await world.patch(name, spec))


async def until_done(world: World, patched: Json) -> Json:
    """Wait until the run that a change has scheduled is COMPLETE and the Instance idle."""
    execution = instances.scheduled(patched)
    assert execution, patched["spec"]
    plan, uid = execution["planName"], execution["uid"]

    def done(instance: Json) -> bool:
        found = instances.entry(instance, plan)
        ended = (found.get("uid"), found.get("status")) == (uid, "COMPLETE")
        return ended and instances.idle(instance)

    return await world.until(patched["metadata"]["name"], done, f"plan {plan} to be COMPLETE")


async def request(world: World, annotation: str, name: str = "i") -> Json:
    """Ask the reconciler for something by an annotation; return when it has been done."""
    now = datetime.now(UTC).isoformat()
    await edit(world, name, {"metadata": {"annotations": {annotation: now}}})

    def done(instance: Json) -> bool:
        return annotation not in instance["metadata"].get("annotations", {})

    return await world.until(name, done, f"{annotation} to be done")


# What is there


async def shards(world: World, name: str = "i") -> list[Json]:
    """Return the Inventories whose owner is the Instance, in their order."""
    uid = (await world.instance(name))["metadata"]["uid"]
    found = [
        one
        for one in await world.all(INVENTORIES)
        if any(owner["uid"] == uid for owner in one["metadata"].get("ownerReferences", ()))
    ]
    return sorted(found, key=lambda one: int(one["metadata"]["name"].rpartition(".")[2]))


async def record(world: World, name: str = "i") -> dict[str, Json]:
    """Return what is on record of an Instance, as `Kind name`."""
    listed = [one for shard in await shards(world, name) for one in shard.get("objects", [])]
    found = {f"{one['kind']} {one['name']}": one for one in listed}
    assert len(found) == len(listed), listed
    return found


def tasks_on(found: Mapping[str, Json]) -> dict[str, tuple[str, str]]:
    """Return plan and task of each object on record."""
    return {key: (one.get("plan", ""), one.get("task", "")) for key, one in found.items()}


def orphaned(found: Mapping[str, Json]) -> set[str]:
    """Return the objects on record that are marked as orphans."""
    return {key for key, one in found.items() if one.get("orphanedBy")}


async def is_complete(world: World, name: str = "i") -> bool:
    """Return whether the record says that it is complete."""
    return (await shards(world, name))[0].get("complete") is True


def told(instance: Json) -> set[str]:
    """Return the orphans in the status of an Instance."""
    return {f"{one['kind']} {one['name']}" for one in instance["status"].get("orphans", ())}


async def until_told(world: World, *orphans: str, name: str = "i") -> Json:
    """Wait until the status names exactly these orphans; without any, it has no such field."""

    def as_expected(instance: Json) -> bool:
        status = instance.get("status", {})
        return told(instance) == set(orphans) if orphans else "orphans" not in status

    return await world.until(name, as_expected, f"the orphans {orphans}")


async def until_record(world: World, *objects: str, name: str = "i") -> dict[str, Json]:
    """Wait until exactly these objects are on record."""
    found: dict[str, Json] = {}

    async def as_expected() -> bool:
        nonlocal found
        found = await record(world, name)
        return set(found) == set(objects)

    await wait_until(as_expected, lambda: f"{objects} on record; there is {found}")
    return found


async def versions(world: World, name: str = "i") -> list[tuple[str, str]]:
    """Return uid and resourceVersion of the Inventories of an Instance."""
    found = [one["metadata"] for one in await shards(world, name)]
    return [(one["uid"], one["resourceVersion"]) for one in found]


async def configs(world: World) -> set[str]:
    """Return the names of the ConfigMaps of the namespace, but for that of every namespace."""
    names = {obj["metadata"]["name"] for obj in await world.all(CONFIG_MAPS)}
    return names - {"kube-root-ca.crt"}


async def uid_of(client: Client, resource: Resource, name: str, namespace: str = "") -> str:
    """Return the uid of an object, empty if there is none."""
    try:
        found = await client.get(resource, name, namespace=namespace or None)
    except NotFound:
        return ""
    return str(found["metadata"]["uid"])
