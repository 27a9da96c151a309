"""The policies of `policies/`, bound while a test runs, and what they say."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import yaml

from kubeio.errors import ApiError, NotFound
from kubeio.resource import ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.clients import client_as, new_namespace
from tests.support.cluster.resources import INSTANCES, VERSIONS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

POLICIES = Path(__file__).parents[3] / "policies"
INSTANCES_POLICY = "kudo-instances"
IMMUTABLE_POLICY = "kudo-operatorversions-immutable"
OWN_VERSIONS_POLICY = "kudo-own-operatorversions"
_PROBE = "policy-probe"
_KINDS = {kind.kind: kind for kind in (ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS)}


def denied_by(error: ApiError, policy: str = INSTANCES_POLICY) -> str:
    """Return the reason that a policy gives, or "" if the refusal is not its own."""
    opening = f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: "
    _, found, text = error.message.partition(opening)
    return text.partition(":")[0] if found else ""


@asynccontextmanager
async def instances_policy(world: World) -> AsyncIterator[None]:
    """Bind the policy of Instances, and take it away whatever happens."""
    aside = await _aside(world)

    async def refused() -> bool:
        # The webhooks pass over the reconciler's bookkeeping; the policy knows nobody.
        async with client_as(world, "reconciler") as reconciler:
            try:
                await reconciler.merge_patch(
                    INSTANCES,
                    _PROBE,
                    {"spec": {"planExecution": {"planName": "cleanup"}}},
                    namespace=aside.namespace,
                    dry_run=True,
                )
            except ApiError as error:
                # Which reason depends on what the reconciler does with the Instance meanwhile.
                return bool(denied_by(error))
        return False

    async with _applied(world, refused, POLICIES / "instances.yaml"):
        yield


@asynccontextmanager
async def immutable_versions(world: World) -> AsyncIterator[None]:
    """Bind the policy of OperatorVersions, and take it away whatever happens."""
    aside = await _aside(world)

    async def refused() -> bool:
        change = {"spec": {"version": "9.9.9"}}
        try:
            await aside.client.merge_patch(
                VERSIONS, _PROBE, change, namespace=aside.namespace, dry_run=True
            )
        except ApiError as error:
            return bool(denied_by(error, IMMUTABLE_POLICY))
        return False

    binding = POLICIES / "immutable-operatorversions"
    async with _applied(world, refused, POLICIES / "operatorversions.yaml", binding):
        yield


@asynccontextmanager
async def own_versions(world: World) -> AsyncIterator[None]:
    """Bind the policy of references, and take it away whatever happens."""
    aside = await _aside(world)
    foreign = build.instance(_PROBE, _PROBE)
    foreign["spec"]["operatorVersion"]["namespace"] = aside.namespace

    async def refused() -> bool:
        try:
            await world.client.create(INSTANCES, foreign, namespace=world.namespace, dry_run=True)
        except ApiError as error:
            return bool(denied_by(error, OWN_VERSIONS_POLICY))
        return False

    async with _applied(world, refused, POLICIES / "own-operatorversions"):
        yield


@asynccontextmanager
async def _applied(
    world: World, refused: Callable[[], Awaitable[bool]], *manifests: Path
) -> AsyncIterator[None]:
    objects = [obj for path in manifests for obj in _read(path)]

    async def passes() -> bool:
        return not await refused()

    async with client_as(world, "admin") as admin:
        try:
            for obj in objects:
                await admin.create(_KINDS[obj["kind"]], obj)
            await wait_until(refused, lambda: "the API server to notice the policy")
            yield
        finally:
            for obj in reversed(objects):
                with suppress(NotFound):
                    await admin.delete(_KINDS[obj["kind"]], obj["metadata"]["name"])
            await wait_until(passes, lambda: "the API server to forget the policy")


def _read(path: Path) -> list[Json]:
    """Return the objects of a file, or of the files in a folder."""
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    return [obj for file in files for obj in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


async def _aside(world: World) -> World:
    """Return another namespace, with objects to try a policy on."""
    aside = replace(world, namespace=await new_namespace(world.client))
    version: Json = build.operator_version(_PROBE, templates={}, plans={"deploy": {"phases": []}})
    done = await aside.apply(version, build.instance(_PROBE, _PROBE))
    assert done.code == 0, done.output
    return aside
