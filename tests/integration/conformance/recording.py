"""Records what an API server answers, without what differs from one run to the next."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

import orjson

from kubeio.client import Client, ListResult
from kubeio.errors import ApiError, NotFound
from kubeio.resource import Resource
from kubeio.types import Json, JsonObject, copy_json

_TIMES = frozenset(
    {"creationTimestamp", "deletionTimestamp", "time", "lastTransitionTime", "renewTime"}
)
_SECONDS = 60.0
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NUMBER = re.compile(r"\b\d{2,}\b")
View = Callable[[JsonObject], Json]


def whole(obj: JsonObject) -> Json:
    return obj


@dataclass
class Recorder:
    """One API server as a script of calls sees it, and what it answered.

    Attributes:
        namespace: Of this script alone; a second one is made by the script itself.
        heard: What was answered, one entry for each call.
    """

    client: Client
    namespace: str
    heard: list[JsonObject] = field(default_factory=list)
    _uids: dict[str, str] = field(default_factory=dict)

    async def call(
        self, what: str, call: Awaitable[JsonObject | ListResult], view: View = whole
    ) -> JsonObject:
        """Do a call, record its answer, and return that; empty if it was refused."""
        try:
            answer = await call
        except ApiError as error:
            self.heard.append({"call": what, "refused": self._refusal(error)})
            return {}
        if isinstance(answer, ListResult):
            self.heard.append({"call": what, "items": [self._plain(view(o)) for o in answer.items]})
            return {"resourceVersion": answer.resource_version}
        self.heard.append({"call": what, "answer": self._plain(view(answer))})
        return answer

    def note(self, what: str, fact: Json) -> None:
        """Record something that follows from the answers."""
        self.heard.append({"call": what, "fact": self._plain(fact)})

    async def changes(
        self,
        what: str,
        resource: Resource,
        version: str,
        count: int,
        *,
        view: View = whole,
        label_selector: str | None = None,
        metadata_only: bool = False,
    ) -> None:
        """Record the first events of a watch from a version on."""
        watch = self.client.watch(
            resource,
            namespace=self.namespace if resource.namespaced else None,
            resource_version=version,
            label_selector=label_selector,
            metadata_only=metadata_only,
            timeout_seconds=30,
        )
        seen: list[Json] = []
        try:
            async with asyncio.timeout(_SECONDS), aclosing(watch) as events:
                while len(seen) < count:
                    event = await anext(events)
                    if event.type != "BOOKMARK":
                        seen.append([event.type, self._plain(view(event.object))])
        except ApiError as error:
            self.heard.append({"call": what, "refused": self._refusal(error)})
            return
        self.heard.append({"call": what, "events": seen})

    async def gone(self, what: str, resource: Resource, name: str) -> None:
        """Wait until an object is gone."""
        await self.until(what, resource, name, lambda found: found is None)

    async def until(
        self,
        what: str,
        resource: Resource,
        name: str,
        condition: Callable[[JsonObject | None], bool],
    ) -> None:
        """Wait until an object, or its absence, fulfils a condition."""
        found: JsonObject | None = None
        try:
            async with asyncio.timeout(_SECONDS):
                while not condition(found := await self._find(resource, name)):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        except TimeoutError:
            reason = f"waited {_SECONDS:.0f} s in vain for {what}; last seen: {found}"
            raise AssertionError(reason) from None
        self.note(what, fact=True)

    async def _find(self, resource: Resource, name: str) -> JsonObject | None:
        try:
            return await self.client.get(resource, name, namespace=self.namespace)
        except NotFound:
            return None

    def _refusal(self, error: ApiError) -> JsonObject:
        causes = [[cause.reason, cause.field, self._text(cause.message)] for cause in error.causes]
        about = {key: self._text(error.details.get(key, "")) for key in ("name", "group", "kind")}
        return {
            "status": error.status,
            "reason": error.reason,
            "message": self._text(error.message),
            "about": {key: value for key, value in about.items() if value},
            "causes": sorted(causes),
        }

    def _plain(self, value: Json) -> Json:
        return self._shown(copy_json(value), "")

    def _shown(self, value: Json, key: str) -> Json:
        if isinstance(value, dict):
            return {self._text(name): self._shown(below, name) for name, below in value.items()}
        if key == "managedFields":
            return sorted((self._shown(one, "") for one in value), key=_sorted_text)
        if isinstance(value, list):
            return [self._shown(item, "") for item in value]
        if value is not None and key in _TIMES:
            return "TIME"
        if key == "resourceVersion":
            return "VERSION"
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        text = text.replace(self.namespace, "NAMESPACE")
        text = _UID.sub(
            lambda found: self._uids.setdefault(found[0], f"UID{len(self._uids)}"), text
        )
        text = _TIME.sub("TIME", text)
        return _NUMBER.sub("NUMBER", text) if "version" in text.lower() else text

    def _uid(self, uid: str) -> str:
        return self._uids.setdefault(uid, f"UID{len(self._uids)}")


def _sorted_text(value: Json) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
