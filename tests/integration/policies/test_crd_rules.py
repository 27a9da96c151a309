"""The CEL rules in the CRDs: what they refuse, and that nothing of KUDO 0.19 breaks them."""

import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from goyaml import load
from kubeio.client import Client
from kubeio.errors import AlreadyExists, Invalid
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.changes import edit, write_status
from tests.support.cluster.clients import client_as
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.webhooks import without_webhooks
from tests.support.cluster.world import World
from tests.support.world.recorded_states import (
    STATES,
    Start,
    execution,
    recorded,
    status_written,
)

CRD = Path(__file__).parents[3] / "crds" / "instances.yaml"
NAMELESS = "spec.operatorVersion.name: Required value: OperatorVersionNotFound: it is empty"
UNKNOWN = "spec.planExecution.status: Invalid value: no such status"
STATUSES = ("", "NEVER_RUN", "PENDING", "IN_PROGRESS", "ERROR", "COMPLETE", "FATAL_ERROR")


@pytest.fixture
async def unguarded(world: World) -> AsyncIterator[World]:
    """Yield a namespace where neither webhooks nor a reconciler do anything."""
    world.installation.reconciler.stop()
    async with without_webhooks(world):
        yield world


async def create(world: World, instance: Json, *, dry_run: bool = False) -> Json:
    return await world.client.create(
        INSTANCES, instance, namespace=world.namespace, dry_run=dry_run
    )


async def refused(world: World, instance: Json) -> str:
    """Create an Instance that must be refused, and return what is said."""
    with pytest.raises(Invalid) as caught:
        await create(world, instance, dry_run=True)
    return caught.value.message


def with_spec(spec: Json | None) -> Json:
    found = build.instance("i", "any")
    del found["spec"]
    return found if spec is None else {**found, "spec": spec}


async def test_an_instance_names_its_operator_version(unguarded: World) -> None:
    nameless: list[Json | None] = [
        None,
        {},
        {"parameters": {"A": "1"}, "planExecution": {}},
        {"operatorVersion": {}},
        {"operatorVersion": {"namespace": "other"}},
        {"operatorVersion": {"name": ""}},
    ]
    for spec in nameless:
        assert NAMELESS in await refused(unguarded, with_spec(spec)), spec

    await create(unguarded, with_spec({"operatorVersion": {"name": "any"}}))


async def test_the_operator_version_cannot_be_taken_off(unguarded: World) -> None:
    await create(unguarded, build.instance("i", "any"))

    for change in ({"operatorVersion": None}, {"operatorVersion": {"name": ""}}):
        with pytest.raises(Invalid) as caught:
            await unguarded.patch("i", change)
        assert NAMELESS in caught.value.message
    with pytest.raises(Invalid):
        await unguarded.client.merge_patch(
            INSTANCES, "i", {"spec": None}, namespace=unguarded.namespace
        )


DB = {"name": "db", "key": "password"}
PASSWORD: Json = {"name": "PASSWORD", "secretKeyRef": DB}
NOTE: Json = {"name": "NOTE", "configMapKeyRef": {"name": "notes.v1", "key": ".a-b_C"}}


def with_sources(*sources: Json) -> Json:
    return with_spec({"operatorVersion": {"name": "any"}, "parametersFrom": list(sources)})


async def test_a_parameter_comes_from_one_key_of_one_object(unguarded: World) -> None:
    one = "it names none or both of secretKeyRef and configMapKeyRef; name one of them"
    both = {**PASSWORD, "configMapKeyRef": DB}
    many = [{**PASSWORD, "name": f"P{n}"} for n in range(2001)]
    table: list[tuple[Json, str]] = [
        (with_sources({"name": "PASSWORD"}), one),
        (with_sources(both), one),
        (with_sources(PASSWORD, PASSWORD), 'Duplicate value: {"name":"PASSWORD"}'),
        (with_sources({"secretKeyRef": DB}), "spec.parametersFrom[0].name: Required value"),
        (with_sources({**PASSWORD, "name": ""}), "spec.parametersFrom[0].name"),
        (with_sources({**PASSWORD, "secretKeyRef": {"name": "db"}}), "key: Required value"),
        (with_sources({**PASSWORD, "secretKeyRef": {"key": "db"}}), "name: Required value"),
        (with_sources({**PASSWORD, "secretKeyRef": {**DB, "name": "Db"}}), "secretKeyRef.name"),
        (with_sources({**PASSWORD, "secretKeyRef": {**DB, "name": "a/b"}}), "secretKeyRef.name"),
        (with_sources({**PASSWORD, "secretKeyRef": {**DB, "key": "a b"}}), "secretKeyRef.key"),
        (with_sources(*many), "spec.parametersFrom: Too many"),
    ]
    for instance, text in table:
        assert text in await refused(unguarded, instance), text

    stored = await create(unguarded, with_sources(PASSWORD, NOTE))
    assert stored["spec"]["parametersFrom"] == [PASSWORD, NOTE]
    await write_status(unguarded, "i", {"lastRun": {"secrets": {"PASSWORD": RECORD}}})
    kept = await unguarded.client.get(INSTANCES, "i", namespace=unguarded.namespace)
    assert kept["status"]["lastRun"]["secrets"] == {"PASSWORD": RECORD}

    # A field manager owns single items, so that two of them can set a parameter each.
    for manager, source in (("one", PASSWORD), ("two", {**NOTE, "name": "MORE"})):
        applied = await unguarded.client.apply(
            INSTANCES,
            {**with_sources(source), "metadata": {"name": "shared"}},
            namespace=unguarded.namespace,
            field_manager=manager,
            force=True,
        )
    assert [each["name"] for each in applied["spec"]["parametersFrom"]] == ["PASSWORD", "MORE"]


RECORD = {"digest": "d", "uid": "u", "resourceVersion": "1", "beganWith": "e"}


async def test_a_status_is_one_of_those_that_plans_have(unguarded: World) -> None:
    misspelt = {"planName": "deploy", "status": "FATAL_EROR"}
    new = with_spec({"operatorVersion": {"name": "any"}, "planExecution": misspelt})

    assert UNKNOWN in await refused(unguarded, new)

    await create(unguarded, build.instance("i", "any"))
    for status in STATUSES:
        await unguarded.patch("i", {"planExecution": {"planName": "deploy", "status": status}})
    await unguarded.patch("i", {"planExecution": {"planName": "deploy", "uid": None}})
    with pytest.raises(Invalid) as caught:
        await unguarded.patch("i", {"planExecution": misspelt})
    assert UNKNOWN in caught.value.message


async def test_several_faults_are_named_together(unguarded: World) -> None:
    said = await refused(unguarded, with_spec({"planExecution": {"status": "done"}}))

    assert NAMELESS in said
    assert UNKNOWN in said


# What is already stored


@asynccontextmanager
async def without_rules(world: World) -> AsyncIterator[None]:
    """Serve Instances without CEL rules, as KUDO 0.19 did, and put them back whatever happens."""
    guarded: Json = load(CRD.read_text(encoding="utf-8"))  # type: ignore[assignment]
    bare = copy.deepcopy(guarded)
    schema = bare["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["x-kubernetes-validations"]
    del schema["properties"]["spec"]["properties"]["planExecution"]["x-kubernetes-validations"]
    async with client_as(world, "admin") as admin:
        await _serve(world, admin, bare, strict=False)
        try:
            yield
        finally:
            await _serve(world, admin, guarded, strict=True)


async def _serve(world: World, admin: Client, crd: Json, *, strict: bool) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/instances.kudo.dev"
    stored = await admin.raw("GET", path)
    version = stored["metadata"]["resourceVersion"]
    body = {**crd, "metadata": {**crd["metadata"], "resourceVersion": version}}
    await admin.raw("PUT", path, body=body)

    async def noticed() -> bool:
        try:
            await create(world, with_spec({}), dry_run=True)
        except Invalid:
            return strict
        except AlreadyExists:
            # The rules let it pass; only the name is taken by then.
            return not strict
        return not strict

    await wait_until(noticed, lambda: "the API server to serve the other schema")


@pytest.fixture
async def stored(unguarded: World) -> World:
    """Return a namespace with an Instance `i` that breaks every rule."""
    async with without_rules(unguarded):
        broken = with_spec({"planExecution": {"planName": "deploy", "status": "odd"}})
        await create(unguarded, broken)
    return unguarded


async def test_a_stored_instance_that_breaks_the_rules_can_be_worked_with(stored: World) -> None:
    await edit(stored, "i", {"metadata": {"labels": {"team": "a"}}})
    await stored.patch("i", {"parameters": {"A": "1"}})
    async with client_as(stored, "reconciler") as reconciler:
        await reconciler.merge_patch(
            INSTANCES,
            "i",
            {"metadata": {"finalizers": ["example.org/a"]}},
            namespace=stored.namespace,
        )
    written = await write_status(stored, "i", {"observedGeneration": 1})
    await stored.client.delete(INSTANCES, "i", namespace=stored.namespace)
    await stored.client.merge_patch(
        INSTANCES, "i", {"metadata": {"finalizers": None}}, namespace=stored.namespace
    )

    assert written["status"]["observedGeneration"] == 1
    await stored.until_gone(INSTANCES, "i")


async def test_a_stored_instance_that_breaks_the_rules_can_be_mended_and_not_broken_again(
    stored: World,
) -> None:
    with pytest.raises(Invalid):
        await stored.patch("i", {"planExecution": {"status": "odder"}})
    good = {"operatorVersion": {"name": "any"}, "planExecution": {"status": "COMPLETE"}}

    await stored.patch("i", good)

    for bad in ({"operatorVersion": {"name": ""}}, {"planExecution": {"status": "odd"}}):
        with pytest.raises(Invalid):
            await stored.patch("i", bad)


# What KUDO 0.19 stores and writes


def writes(start: Start) -> list[Json]:
    """Return the specs that the original's CLI (the first three) and controller send."""
    unused: Json = {"operatorVersion": {}, "parameters": {}, "planExecution": {}}
    plan, uid, *_ = (*start.scheduled, "deploy", "u")
    ended = [{"planName": plan, "uid": uid, "status": status} for status in STATUSES]
    return [
        {**unused, "parameters": {"A": "2"}},
        {**unused, "operatorVersion": {"name": "recorded-2"}},
        {**unused, "planExecution": {"planName": "p", "uid": "made-by-the-client"}},
        *({"planExecution": execution} for execution in ended),
        {"planExecution": {"planName": None, "uid": None, "status": None}},
        {"planExecution": None},
    ]


async def test_every_recorded_state_and_write_of_the_original_passes(unguarded: World) -> None:
    async with client_as(unguarded, "admin") as admin:
        for number, start in enumerate(STATES.values()):
            instance = build.instance(f"i{number}", "recorded-1")
            instance["spec"]["planExecution"] = execution(*start.scheduled)
            stored = await create(unguarded, instance)
            if start.runs is not None:
                whole = copy.deepcopy(stored)
                whole["status"] = status_written(recorded(start.cleanup), start)
                stored = await admin.replace(INSTANCES, whole, subresource="status")
            await admin.replace(INSTANCES, stored)
            for spec in writes(start):
                await unguarded.client.merge_patch(
                    INSTANCES,
                    f"i{number}",
                    {"spec": spec},
                    namespace=unguarded.namespace,
                    dry_run=True,
                )
