"""An API server in memory, a clock that is moved by hand, and replicas that take turns.

Only what is outside of the certificates is replaced. A pass of a replica is a coroutine that is
advanced request by request, so that any interleaving can be played, and any replica killed
anywhere: before a request is sent, or between its effect and its answer.
"""

import base64
import datetime as dt
import functools
from collections.abc import Coroutine, Generator, Sequence
from dataclasses import dataclass, field

from kubeio.errors import Conflict, Invalid, KubeError, NotFound
from kubeio.resource import MUTATING_WEBHOOKS, SECRETS, VALIDATING_WEBHOOKS, Resource, name_of
from kubeio.types import Json, JsonObject, copy_json
from kudo_webhook.certificates.authority import (
    Damaged,
    Lifetimes,
    Pair,
    issued_by,
    pem,
    serving_names,
)
from kudo_webhook.certificates.due import Trust, read_bundle
from kudo_webhook.certificates.rotation import Objects, Rotation
from kudo_webhook.certificates.store import Configurations, PairSecret
from kudo_webhook.retry import LostRace

NAMESPACE, SECRET, CONFIGURATION = "kudo-system", "serving", "admission"
NAMES = serving_names("kudo-webhook", NAMESPACE)
START = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
TIMES = Lifetimes(authority=dt.timedelta(minutes=10), leaf=dt.timedelta(minutes=2))

ADMISSION = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


class Turn:
    """Gives the turn back to whoever plays."""

    def __await__(self) -> Generator[None]:
        yield  # in a test on an event loop: to that


@dataclass
class Api:
    """Objects with resourceVersions; each request waits for its turn, and so does its answer."""

    objects: dict[tuple[str, str], JsonObject] = field(default_factory=dict)
    version: int = 0
    writes: list[str] = field(default_factory=list)
    refused: KubeError | None = None

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,  # noqa: ARG002
    ) -> JsonObject:
        await self._request()
        found = self._find(resource, name)
        await Turn()
        return found

    async def apply(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        field_manager: str,  # noqa: ARG002
        force: bool = False,
    ) -> JsonObject:
        await self._request()
        answer = self._apply(resource, obj, force)
        await Turn()
        return answer

    async def json_patch(
        self,
        resource: Resource,
        name: str,
        ops: Sequence[JsonObject],
        *,
        field_manager: str | None = None,  # noqa: ARG002
    ) -> JsonObject:
        await self._request()
        patched = self._find(resource, name)
        for op in ops:
            _patch(patched, op)
        answer = self.put(resource, patched)
        await Turn()
        return answer

    def put(self, resource: Resource, obj: JsonObject) -> JsonObject:
        """Write an object whatever is there."""
        self.version += 1
        stored: JsonObject = copy_json(obj)
        stored["metadata"]["resourceVersion"] = str(self.version)
        self.objects[resource.plural, name_of(obj)] = stored
        self.writes.append(name_of(obj))
        return stored

    async def _request(self) -> None:
        await Turn()
        if self.refused is not None:
            raise self.refused

    def _find(self, resource: Resource, name: str) -> JsonObject:
        found = self.objects.get((resource.plural, name))
        if found is None:
            raise NotFound(f"{name} not found", status=404)
        copied: JsonObject = copy_json(found)
        return copied

    def _apply(self, resource: Resource, obj: JsonObject, force: bool) -> JsonObject:
        stored = self.objects.get((resource.plural, name_of(obj)))
        expected = obj["metadata"].get("resourceVersion")
        if expected and (stored is None or stored["metadata"]["resourceVersion"] != expected):
            raise Conflict("the object has been modified", status=409)
        if stored is None or force:
            return self.put(resource, obj)
        if stored["data"] != obj["data"]:
            raise Conflict("conflict with another manager", status=409)
        return stored


def _patch(obj: JsonObject, op: JsonObject) -> None:
    *parents, last = op["path"].strip("/").split("/")
    target: Json = obj
    for segment in parents:
        target = target[int(segment)] if isinstance(target, list) else target[segment]
    if op["op"] == "add":
        target[last] = op["value"]
    elif target[last] != op["value"]:
        raise Invalid("the test failed", status=422)


@dataclass
class Replica:
    """One webhook process, restarted whenever it was killed."""

    world: "World"
    skew: dt.timedelta
    served: Pair | None = None
    finished: int = 0
    _rotation: Rotation | None = None
    _pass: Coroutine[None, None, bool] | None = None
    _began: float = 0.0

    def step(self) -> None:
        """Let it send one request, or get one answer; a pass begins where none is under way."""
        if self._pass is None:
            self._began = self.world.seconds
            self._pass = self._started().advance()
        try:
            self._pass.send(None)
        except StopIteration:
            self._pass = None
            self.finished += 1
        except (LostRace, KubeError):
            self._pass = None

    def finish(self) -> None:
        """Let the pass under way end, or do one."""
        self.step()
        while self._pass is not None:
            self.step()

    def give_up_late(self) -> None:
        if self.world.seconds - self._began > TIMES.patience.total_seconds():
            self._end_pass()

    def kill(self) -> None:
        """End the process; it starts again with nothing but what is stored."""
        self._end_pass()
        self._rotation = None
        self.served = None

    def _end_pass(self) -> None:
        if self._pass is not None:
            self._pass.close()
            self._pass = None

    def _started(self) -> Rotation:
        if self._rotation is None:
            self._rotation = Rotation(
                self.world.objects,
                NAMES,
                TIMES,
                serve=self._serve,
                on_write=self.world.written.append,
                now=lambda: self.world.now + self.skew,
                elapsed=lambda: self.world.seconds,
            )
        return self._rotation

    def _serve(self, leaf: Pair) -> None:
        self.served = leaf


class World:
    """A cluster with some replicas of the webhook, whose clocks differ a little."""

    def __init__(self, replicas: int = 3) -> None:
        self.seconds = 0.0
        self.api = Api()
        self.written: list[str] = []
        self.objects = Objects(
            leaf=PairSecret(self.api, NAMESPACE, SECRET),
            authority=PairSecret(self.api, NAMESPACE, f"{SECRET}-ca"),
            configurations=Configurations(self.api, CONFIGURATION),
        )
        tenth = TIMES.backdating / 10
        self.replicas = [Replica(self, (index - 1) * tenth) for index in range(replicas)]
        for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            self.configure(resource)

    @property
    def now(self) -> dt.datetime:
        return START + dt.timedelta(seconds=self.seconds)

    def pass_time(self, seconds: float) -> None:
        self.seconds += seconds
        for replica in self.replicas:
            replica.give_up_late()

    def configure(self, resource: Resource, bundle: bytes = b"", webhooks: int = 1) -> None:
        """Write a configuration by hand."""
        client = {"service": {"name": "kudo-webhook"}}
        trusted = {"caBundle": base64.b64encode(bundle).decode()} if bundle else {}
        one = {"name": "one", "clientConfig": {**client, **trusted}}
        obj = {"metadata": {"name": CONFIGURATION}, "webhooks": [copy_json(one)] * webhooks}
        self.api.put(resource, obj)

    # What is stored

    def bundles(self) -> list[Trust]:
        """Return what each webhook trusts."""
        return [
            _read_bundle(base64.b64decode(webhook["clientConfig"].get("caBundle", "")))
            for plural in ADMISSION
            for webhook in self.api.objects.get((plural, CONFIGURATION), {}).get("webhooks", [])
        ]

    def stored(self, name: str) -> Pair | None:
        """Return the pair that a Secret holds; None if there is none, or a damaged one."""
        found = self.api.objects.get(("secrets", name))
        if found is None:
            return None
        parts = (base64.b64decode(found["data"][key]) for key in ("tls.crt", "tls.key", "ca.crt"))
        try:
            return Pair.read(*parts)
        except Damaged:
            return None

    @property
    def leaf(self) -> Pair | None:
        return self.stored(SECRET)

    @property
    def authority(self) -> Pair | None:
        return self.stored(f"{SECRET}-ca")

    # What somebody does by hand

    def delete(self, name: str) -> None:
        self.api.objects.pop(("secrets", name), None)

    def damage(self, name: str) -> None:
        found = self.api.objects.get(("secrets", name))
        if found is not None:
            text = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nnone").decode()
            self.api.put(SECRETS, {**found, "data": {**found["data"], "tls.crt": text}})

    def store(self, name: str, pair: Pair) -> None:
        encoded = {
            "tls.crt": pair.certificate_pem,
            "tls.key": pair.key_pem,
            "ca.crt": pem(pair.issuer),
        }
        data = {key: base64.b64encode(content).decode() for key, content in encoded.items()}
        self.api.put(SECRETS, {"metadata": {"name": name}, "data": data})

    # What has to hold

    def refused(self) -> list[str]:
        """Return which replicas the API server would refuse to talk to, and why."""
        return [
            f"replica {index}: {problem}"
            for index, replica in enumerate(self.replicas)
            if replica.served is not None
            for problem in self._problems(replica.served)
        ]

    def expired(self) -> list[int]:
        """Return which replicas serve an expired certificate."""
        return [
            index
            for index, replica in enumerate(self.replicas)
            if replica.served and replica.served.certificate.not_valid_after_utc < self.now
        ]

    def _problems(self, leaf: Pair) -> list[str]:
        if leaf.certificate.not_valid_after_utc < self.now:
            return []
        return [
            f"configuration {index} trusts {len(held)} others"
            for index, held in enumerate(self.bundles())
            if not any(_issued_by(leaf.certificate, one) for one in held)
        ]


# Every state is looked at many times.
_issued_by = functools.lru_cache(maxsize=4096)(issued_by)
_read_bundle = functools.lru_cache(maxsize=256)(read_bundle)
