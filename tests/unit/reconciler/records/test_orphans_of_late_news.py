"""What a run has applied is no orphan, whatever comes late: another run, a search, a cache."""

import asyncio
from dataclasses import replace
from typing import cast

import pytest

from kubeio.cache.reflector import Timing
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo.api import OperatorVersion
from kudo.api.names import ANNOTATION_PLAN_UID
from kudo.objects.inventory.orphans import Finished
from kudo.objects.inventory.record import Entry, Place, Record
from kudo_reconciler.controller.leftovers import Ended, Left, OrphanSearch
from kudo_reconciler.objects.cached_objects import reduced
from kudo_reconciler.objects.observer import Observer
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.network.faults import Fate, Quiet
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import Names, StatusError, no_such_path, not_found
from tests.unit.reconciler.records.recorded import orphans
from tests.unit.reconciler.scenes.scene import CONFIG_MAPS, Scene, play
from tests.unit.reconciler.upkeep.changing_operator import config_map, operator, there

ENTRY = Entry(Place("", "ConfigMap", "ns", "c"), "v1", "configmaps", "deploy", "apply")


def test_a_search_for_orphans_ends_with_its_run() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(prune=True))
        # An object without the label is not in the cache: the search reads it, which takes long.
        change: JsonObject = {"metadata": {"labels": {"heritage": None}}}
        await scene.admin.merge_patch(CONFIG_MAPS, "c", change, namespace="ns")
        await asyncio.sleep(5)
        reads: list[Request] = []

        def held(request: Request) -> float:
            if request.method == "GET" and request.path.endswith("configmaps/c"):
                reads.append(request)
            return 20.0 if reads == [request] else 0.0

        scene.network.held = held
        await scene.life.user.set("i", {"parameters": {"NAMES": "a b"}})
        await asyncio.sleep(3)
        assert reads
        await scene.life.user.set("i", {"parameters": {"NAMES": "a b c"}})
        await asyncio.sleep(100)
        assert there(scene) == ["a", "b", "c"]
        assert orphans(scene) is None

    play(body)


def test_a_mark_that_came_late_is_taken_off_at_the_end_of_the_run() -> None:
    record = Record().merged([replace(ENTRY, orphaned_by="earlier")])
    left = Left(unmarked=frozenset({ENTRY.place}))
    assert list(left.changed(record)) == [ENTRY]


class _Behind:
    """An observer whose cache shows an object as it was before a run."""

    def __init__(self, *, applied: bool) -> None:
        self._mark = "run" if applied else "earlier"

    async def current(self, *_: object, **__: object) -> JsonObject:
        return reduced(_object("earlier"))

    async def body(self, *_: object, **__: object) -> JsonObject:
        return _object(self._mark)


class _Refused(Quiet):
    """Has the API server refuse to read the ConfigMap."""

    def __init__(self, refusal: StatusError) -> None:
        self._refusal = refusal

    def fate(self, request: Request) -> Fate:
        if request.path.endswith("/configmaps/c"):
            return Fate(refused=self._refusal)
        return super().fate(request)


class _Kinds:
    """Discovery, which remembers what is not believed any more."""

    def __init__(self) -> None:
        self.invalid: list[str] = []

    async def resolve(self, *_: str) -> Resource:
        return CONFIG_MAPS

    def invalidate(self, api_version: str) -> None:
        self.invalid.append(api_version)


def _object(run: str) -> JsonObject:
    return config_map("c", annotations={ANNOTATION_PLAN_UID: run})


@pytest.mark.parametrize("applied", [True, False])
async def test_a_cache_that_is_behind_makes_no_orphans(applied: bool) -> None:
    version = OperatorVersion.model_validate(operator())
    ended = Ended(Finished("deploy", "run", {"apply": frozenset()}), frozenset({"apply"}))
    search = OrphanSearch(cast("Observer", _Behind(applied=applied)), cast("Discovery", _Kinds()))
    record, client = Record().merged([ENTRY]), cast("Client", None)
    left = await search.left(record, version, ended, (), client)
    assert [one.place for one in left.orphans] == ([] if applied else [ENTRY.place])


@pytest.mark.parametrize("known", [True, False])
async def test_an_object_whose_path_is_unknown_is_not_taken_for_gone(known: bool) -> None:
    cluster, refused = MemoryCluster.start(), no_such_path()
    if known:
        refused = not_found(Names("", "configmaps", "c"))
    client, _ = cluster.client(network=_Refused(refused))
    version = OperatorVersion.model_validate(operator())
    ended, kinds = Ended(Finished("deploy", "run", {"apply": frozenset()})), _Kinds()
    async with asyncio.TaskGroup() as group:
        observer = Observer(client, group, lambda _: None, Timing())
        search = OrphanSearch(observer, cast("Discovery", kinds))
        left = await search.left(Record().merged([ENTRY]), version, ended, (), client)
        observer.close()
    assert left.gone == ({ENTRY.place} if known else set())
    assert kinds.invalid == ([] if known else ["v1"])
