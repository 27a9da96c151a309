"""What the tests of the lifecycle share beside `support`: identities, webhooks, tasks, states."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import ApiError
from tests.integration.registration import restore, unregister
from tests.integration.support import (
    INSTANCES,
    Json,
    World,
    entry,
    new_instance,
    operator_version,
    wait_until,
)

FINALIZER = "kudo.dev.instance.cleanup"
"""The finalizer of an Instance that has a cleanup plan."""
_PROBE = "webhook-probe"


@asynccontextmanager
async def client_as(
    world: World, identity: Literal["admin", "reconciler", "user"]
) -> AsyncIterator[Client]:
    """Yield a client with the rights of `admin`, `reconciler` or `user`."""
    async with Client(load_config(world.installation.cluster.kubeconfig(identity))) as client:
        yield client


@asynccontextmanager
async def without_webhooks(world: World) -> AsyncIterator[None]:
    """Take both webhook configurations away, and put them back whatever happens."""
    async with client_as(world, "admin") as admin:
        await unregister(admin)
        try:
            await _until_judged(world, judged=False)
            yield
        finally:
            await restore(world.installation, admin)
            await _until_judged(world, judged=True)


@asynccontextmanager
async def without_mutating_webhook(world: World) -> AsyncIterator[None]:
    """Take the mutating configuration away, and put it back whatever happens."""
    async with client_as(world, "admin") as admin:
        path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        await admin.raw("DELETE", f"{path}/kudo-instance-admission")
        try:
            await _until_mutated(world, mutated=False)
            yield
        finally:
            await restore(world.installation, admin)
            await _until_mutated(world, mutated=True)


async def _until_judged(world: World, *, judged: bool) -> None:
    """Wait until the API server has noticed that the webhooks came or went."""

    async def noticed() -> bool:
        return await _refusal(world, new_instance(_PROBE, "no-such-version")) is judged

    await wait_until(noticed, lambda: "the API server to notice the webhook configurations")


async def _until_mutated(world: World, *, mutated: bool) -> None:
    version = operator_version(_PROBE, templates={}, plans={"deploy": {"phases": []}})
    await world.apply(version)

    async def noticed() -> bool:
        return await _refusal(world, new_instance(_PROBE, _PROBE)) is not mutated

    await wait_until(noticed, lambda: "the API server to notice the mutating configuration")


async def _refusal(world: World, instance: Json) -> bool:
    """Return whether creating the Instance would be refused."""
    try:
        await world.client.create(INSTANCES, instance, namespace=world.namespace, dry_run=True)
    except ApiError:
        return True
    return False


# Objects to write


def task(name: str, kind: str, *resources: str, **spec: Any) -> Json:
    """Return a task; `resources` are names of templates."""
    named = {"resources": list(resources)} if resources else {}
    return {"name": name, "kind": kind, "spec": {**named, **spec}}


def dummy(name: str, **spec: bool) -> Json:
    return task(name, "Dummy", **spec)


def shaped(
    *phases: Mapping[str, Sequence[str]], plan: str = "serial", phase: str = "serial"
) -> Json:
    """Return a plan with the strategy of its phases and of the steps in them."""
    return {
        "strategy": plan,
        "phases": [
            {
                "name": f"phase{number}",
                "strategy": phase,
                "steps": [{"name": step, "tasks": list(tasks)} for step, tasks in steps.items()],
            }
            for number, steps in enumerate(phases, 1)
        ],
    }


# What is there


def condition(instance: Json, kind: str) -> Json:
    """Return a condition of the Instance, or an empty one."""
    conditions = (instance.get("status") or {}).get("conditions") or []
    return next((c for c in conditions if c["type"] == kind), {})


def reason_of(instance: Json, kind: str = "Ready") -> tuple[str, str]:
    """Return status and reason of a condition."""
    found = condition(instance, kind)
    return found.get("status", ""), found.get("reason", "")


def conditions(instance: Json) -> list[str]:
    """Return the types of all conditions, in their order."""
    return [c["type"] for c in (instance.get("status") or {}).get("conditions") or []]


def tasks_of(instance: Json, plan: str) -> dict[str, Json]:
    """Return the status entry of each task as `step.task`."""
    return {
        f"{step['name']}.{one['name']}": one
        for phase in entry(instance, plan).get("phases", [])
        for step in phase.get("steps", [])
        for one in step.get("tasks", [])
    }


async def reasons(world: World) -> list[str]:
    """Return the reasons of all events of Instances, oldest first."""
    return [event["reason"] for event in await world.events()]


async def event_text(world: World, reason: str) -> str:
    """Return the message of the only event with this reason."""
    found = await world.events(reason)
    assert len(found) == 1, await reasons(world)
    return str(found[0]["message"])


async def ends_of(world: World, uid: str) -> list[str]:
    """Return the messages of the end events of an execution."""
    events = await world.events()
    return [e["message"] for e in events if e["metadata"]["name"].endswith(f".{uid}.finished")]


async def until_event(world: World, reason: str) -> Json:
    """Wait for an event with this reason, and return it."""
    found: list[Json] = []

    async def there() -> bool:
        nonlocal found
        found = await world.events(reason)
        return bool(found)

    await wait_until(there, lambda: f"an event {reason}")
    return found[0]


# Changes


async def delete(world: World, name: str = "i") -> None:
    await world.client.delete(INSTANCES, name, namespace=world.namespace)


async def edit(world: World, name: str, patch: Json) -> Json:
    """Merge-patch the whole Instance as the user."""
    return await world.client.merge_patch(INSTANCES, name, patch, namespace=world.namespace)


async def write_status(world: World, name: str, status: Json) -> Json:
    """Merge-patch the status with all rights."""
    async with client_as(world, "admin") as admin:
        return await admin.merge_patch(
            INSTANCES, name, {"status": status}, namespace=world.namespace, subresource="status"
        )


async def as_admin(world: World, *arguments: str) -> str:
    """Run kubectl with all rights; it has to succeed."""
    admin = world.installation.cluster.kubeconfig("admin")
    done = await world.kubectl(f"--kubeconfig={admin}", *arguments)
    assert done.code == 0, done.output
    return done.stdout
