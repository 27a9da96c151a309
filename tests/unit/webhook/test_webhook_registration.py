"""Filling the configurations in: when, with what, and what is left alone."""

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kubeio.client import ListResult
from kubeio.errors import Forbidden, Invalid
from kubeio.resource import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from kubeio.types import Json, JsonObject
from kudo_webhook.registration import Place, Registration, Unreadable, Webhooks
from tests.unit.webhook.certificates.built_in.world import CONFIGURATION, NAMESPACE, Api
from tests.unit.webhook.harness import until

BOTH = (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)
PLACE = Place(NAMESPACE, "kudo-webhook", CONFIGURATION)


def webhook(name: str, **fields: Json) -> JsonObject:
    return {"name": name, "clientConfig": {"service": {"name": "kudo-webhook"}}, **fields}


WANTED = Webhooks((webhook("mutate", timeoutSeconds=10),), (webhook("validate"),))


@dataclass
class Cluster(Api):
    """An API server that knows whether a replica is ready."""

    ready: bool = True
    asked: list[str] = field(default_factory=list)

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
    ) -> ListResult:
        await self._request()
        self.asked.append(f"{namespace}/{resource.plural}?{label_selector}")
        return ListResult([{"endpoints": [{"conditions": {"ready": self.ready}}]}], "1")

    def make(self, *resources: Resource, webhooks: Sequence[JsonObject] = ()) -> None:
        for resource in resources:
            metadata = {"name": CONFIGURATION}
            self.put(
                resource, {"metadata": metadata, **({"webhooks": [*webhooks]} if webhooks else {})}
            )
        self.writes.clear()

    def held(self, resource: Resource) -> Sequence[JsonObject]:
        found: Sequence[JsonObject] = self.objects[resource.plural, CONFIGURATION].get(
            "webhooks", []
        )
        return found


async def happens(condition: Callable[[], bool]) -> None:
    async def awaited() -> bool:
        return condition()

    await until(awaited)


async def settle() -> None:
    """Let everything happen that can happen without time passing."""
    for _ in range(50):
        await asyncio.sleep(0)


@asynccontextmanager
async def registering(
    api: Cluster,
    *,
    ready: bool = True,
    authority: bytes = b"ca",
    desired: Webhooks = WANTED,
    public_roots: bool = False,
) -> AsyncIterator[asyncio.Task[None]]:
    registration = Registration(
        api,
        desired,
        PLACE,
        ready=lambda: ready,
        authority=lambda: authority,
        public_roots=public_roots,
    )
    async with asyncio.TaskGroup() as group:
        task = group.create_task(registration.run())
        yield task
        task.cancel()


async def test_empty_configurations_are_filled_in_with_the_authority() -> None:
    api = Cluster()
    api.make(*BOTH)

    async with registering(api):
        await happens(lambda: len(api.writes) == 2)

    [mutating] = api.held(MUTATING_WEBHOOKS)
    assert mutating["timeoutSeconds"] == 10
    for resource in BOTH:
        [found] = api.held(resource)
        assert base64.b64decode(found["clientConfig"]["caBundle"]) == b"ca"
    assert api.asked[0] == (f"{NAMESPACE}/endpointslices?kubernetes.io/service-name=kudo-webhook")


@pytest.mark.parametrize("problem", ["no replica is ready", "we are not ready"])
async def test_nothing_is_registered_before_somebody_answers(problem: str) -> None:
    api = Cluster(ready=problem != "no replica is ready")
    api.make(*BOTH)

    async with registering(api, ready=problem != "we are not ready"):
        await settle()

    assert api.writes == []


async def test_a_ca_bundle_that_is_held_stays() -> None:
    api = Cluster()
    former = webhook("mutate")
    former["clientConfig"] = {"url": "https://former", "caBundle": "aGVsZA=="}
    api.make(MUTATING_WEBHOOKS, webhooks=[former, webhook("gone")])

    async with registering(api):
        await happens(lambda: len(api.writes) == 1)

    [found] = api.held(MUTATING_WEBHOOKS)
    assert found["clientConfig"] == {"service": {"name": "kudo-webhook"}, "caBundle": "aGVsZA=="}


async def test_a_provided_ca_bundle_wins() -> None:
    api = Cluster()
    given = webhook("mutate")
    given["clientConfig"]["caBundle"] = "Z2l2ZW4="
    held = webhook("mutate")
    held["clientConfig"]["caBundle"] = "aGVsZA=="
    api.make(MUTATING_WEBHOOKS, webhooks=[held])

    async with registering(api, desired=Webhooks((given,), ())):
        await happens(lambda: len(api.writes) == 1)

    assert api.held(MUTATING_WEBHOOKS)[0]["clientConfig"]["caBundle"] == "Z2l2ZW4="


async def test_without_an_authority_nothing_is_registered_and_it_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    api = Cluster()
    api.make(*BOTH)

    async with registering(api, authority=b""):
        await happens(lambda: bool(caplog.records))
        await settle()

    assert api.writes == []
    [record] = caplog.records
    assert "the authority of the served certificate is not known" in record.getMessage()


async def test_without_an_authority_held_and_provided_ca_bundles_are_registered() -> None:
    api = Cluster()
    held, given = webhook("mutate"), webhook("validate")
    held["clientConfig"]["caBundle"] = "aGVsZA=="
    given["clientConfig"] = {**given["clientConfig"], "caBundle": "Z2l2ZW4="}
    api.make(MUTATING_WEBHOOKS, webhooks=[held])
    api.make(VALIDATING_WEBHOOKS)

    async with registering(api, authority=b"", desired=Webhooks(WANTED.mutating, (given,))):
        await happens(lambda: len(api.writes) == 2)

    bundles = [api.held(resource)[0]["clientConfig"]["caBundle"] for resource in BOTH]
    assert bundles == ["aGVsZA==", "Z2l2ZW4="]


async def test_with_public_roots_there_is_no_ca_bundle() -> None:
    api = Cluster()
    held = webhook("mutate", timeoutSeconds=10)
    held["clientConfig"]["caBundle"] = "aGVsZA=="
    api.make(MUTATING_WEBHOOKS, webhooks=[held])
    api.make(VALIDATING_WEBHOOKS)

    async with registering(api, public_roots=True):
        await happens(lambda: len(api.writes) == 2)

    assert all("caBundle" not in api.held(resource)[0]["clientConfig"] for resource in BOTH)


async def test_a_ca_bundle_that_comes_back_is_removed_again_with_public_roots_alone() -> None:
    api = Cluster()
    api.make(*BOTH)
    held = webhook("mutate", timeoutSeconds=10)
    held["clientConfig"]["caBundle"] = "aGVsZA=="
    public, other = (
        Registration(
            api, WANTED, PLACE, ready=lambda: True, authority=lambda: b"ca", public_roots=roots
        )
        for roots in (True, False)
    )

    for registration, expected in ((other, "aGVsZA=="), (public, None)):
        await registration.once()
        api.make(MUTATING_WEBHOOKS, webhooks=[held])
        await registration.once()
        assert api.held(MUTATING_WEBHOOKS)[0]["clientConfig"].get("caBundle") == expected


async def test_what_stands_there_already_is_not_written_again() -> None:
    api = Cluster()
    full = {**webhook("mutate", timeoutSeconds=10), "matchPolicy": "Equivalent"}
    full["clientConfig"] = {**full["clientConfig"], "caBundle": "aGVsZA=="}
    api.make(MUTATING_WEBHOOKS, webhooks=[full])

    async with registering(api):
        await happens(lambda: "endpointslices" in "".join(api.asked))
        await settle()

    assert api.writes == []


async def test_a_configuration_that_was_deleted_stays_deleted() -> None:
    api = Cluster()

    async with registering(api):
        await happens(lambda: bool(api.asked))
        await settle()

    assert api.objects == {}


async def test_another_version_is_corrected_once_and_then_left_alone() -> None:
    api = Cluster()
    api.make(MUTATING_WEBHOOKS, webhooks=[webhook("mutate", timeoutSeconds=3)])
    registration = Registration(
        api, Webhooks(WANTED.mutating, ()), PLACE, ready=lambda: True, authority=lambda: b"ca"
    )
    await registration.once()
    assert api.held(MUTATING_WEBHOOKS)[0]["timeoutSeconds"] == 10

    api.make(MUTATING_WEBHOOKS, webhooks=[webhook("mutate", timeoutSeconds=3)])
    await registration.once()
    assert api.held(MUTATING_WEBHOOKS)[0]["timeoutSeconds"] == 3

    api.make(MUTATING_WEBHOOKS)
    await registration.once()
    assert api.held(MUTATING_WEBHOOKS)[0]["timeoutSeconds"] == 10


async def test_a_missing_right_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    api = Cluster(refused=Forbidden("endpointslices is forbidden", status=403))
    registration = Registration(api, WANTED, PLACE, ready=lambda: True, authority=lambda: b"ca")

    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await registration.once()

    [record] = caplog.records
    assert "cannot register: " in record.getMessage()
    assert "endpointslices is forbidden" in record.getMessage()


class Refusing(Cluster):
    """An API server that finds every webhook invalid."""

    async def json_patch(self, *_: object, **__: object) -> JsonObject:
        raise Invalid("caBundle: unable to load root certificates", status=422)


async def test_webhooks_that_the_api_server_refuses_are_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    api = Refusing()
    api.make(*BOTH)
    registration = Registration(api, WANTED, PLACE, ready=lambda: True, authority=lambda: b"ca")

    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            await registration.once()

    [record] = caplog.records
    assert "cannot register: caBundle: unable to load root certificates" in record.getMessage()


def test_the_file_holds_both_lists(tmp_path: Path) -> None:
    file = tmp_path / "webhooks.json"
    file.write_text(json.dumps({"mutating": [webhook("m")], "validating": []}))

    assert Webhooks.read(file) == Webhooks((webhook("m"),), ())


def test_webhooks_are_bundled_when_all_of_them_are() -> None:
    given = webhook("v", clientConfig={"caBundle": "Z2l2ZW4="})

    assert Webhooks((given,), (given,)).bundled
    assert not Webhooks((given,), (webhook("m"),)).bundled


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mutating": []}', '{"mutating": 1}', "\x00"])
def test_another_file_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "webhooks.json"
    file.write_text(text)

    with pytest.raises(Unreadable, match=r"webhooks\.json holds no webhooks"):
        Webhooks.read(file)


@pytest.mark.parametrize(
    "bundle",
    [b"", b"none\n", b"-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n"],
)
def test_a_ca_bundle_without_a_certificate_is_refused_with_its_webhook(
    tmp_path: Path, bundle: bytes
) -> None:
    given = webhook("v", clientConfig={"caBundle": base64.b64encode(bundle).decode()})
    file = tmp_path / "webhooks.json"
    file.write_text(json.dumps({"mutating": [webhook("m")], "validating": [given]}))

    with pytest.raises(Unreadable, match=r"the caBundle of v holds no certificate in PEM"):
        Webhooks.read(file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="No such file"):
        Webhooks.read(tmp_path / "none.json")
