"""Lists, in pages of one moment, and the start of watches."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import orjson

from kubeio.types import Json, JsonObject
from tests.support.apiserver import status
from tests.support.apiserver.reads.selection import Selection, partial
from tests.support.apiserver.reads.watching import Watch
from tests.support.apiserver.storage import Key, Storage
from tests.support.apiserver.types.kinds import Kind

_PARTIAL_LIST = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads many objects."""

    storage: Storage

    def list(self, kind: Kind, selection: Selection, query: Mapping[str, str]) -> bytes:
        """Return a page as JSON.

        Raises:
            StatusError: 410, the page belongs to a moment whose history is gone.
        """
        limit = int(query.get("limit") or 0)
        version, start = self._start(query.get("continue"))
        table = self.storage.table(kind.storage)
        objects = table.objects if version == self.storage.version else table.at(version)
        found = [
            objects[key]
            for key in sorted(objects)
            if key > start and selection.selects(objects[key])
        ]
        page = found[:limit] if limit else found
        metadata: JsonObject = {"resourceVersion": str(version)}
        if len(found) > len(page):
            metadata["continue"] = _token(version, page[-1])
            if not selection.narrowed:
                metadata["remainingItemCount"] = len(found) - len(page)
        return _document(kind, selection, metadata, page)

    def _start(self, token: str | None) -> tuple[int, Key]:
        if token is None:
            return self.storage.version, ("", "")
        try:
            version, namespace, name = orjson.loads(base64.urlsafe_b64decode(token))
        except ValueError:
            raise status.bad_request("continue key is not valid") from None
        if version < self.storage.oldest:
            raise status.expired(_EXPIRED)
        return version, (namespace, name)

    def watch(self, kind: Kind, selection: Selection, query: Mapping[str, str]) -> Watch:
        """Start a watch; without a version it begins with all there is.

        Raises:
            StatusError: 410 Expired, the history is gone.
        """
        watch = Watch(
            self.storage,
            kind.storage,
            kind.api_version,
            kind.kind,
            selection,
            bookmarks=query.get("allowWatchBookmarks") == "true",
            seconds=float(query.get("timeoutSeconds") or 1800),
        )
        table = self.storage.table(kind.storage)
        version = query.get("resourceVersion") or "0"
        if version == "0":
            objects = (table.objects[key] for key in sorted(table.objects))
            watch.begin([], [obj for obj in objects if selection.selects(obj)])
            return watch
        if not version.isdigit():
            raise status.bad_request(f'Invalid value: "{version}": invalid resourceVersion')
        watch.since = int(version)
        self.storage.check(watch.since)
        watch.begin(table.since(int(version)), [])
        return watch


def _token(version: int, last: JsonObject) -> str:
    metadata = last["metadata"]
    parts = [version, metadata.get("namespace") or "", metadata["name"]]
    return base64.urlsafe_b64encode(orjson.dumps(parts)).decode()


def _document(
    kind: Kind, selection: Selection, metadata: JsonObject, page: list[JsonObject]
) -> bytes:
    identity: dict[str, Json] = {"kind": f"{kind.kind}List", "apiVersion": kind.api_version}
    if selection.metadata_only:
        items = [partial(obj) for obj in page]
        return orjson.dumps({**_PARTIAL_LIST, "metadata": metadata, "items": items})
    if kind.custom:
        # Lists of custom resources name their metadata last.
        shown = [{**obj, "apiVersion": kind.api_version} for obj in page]
        return orjson.dumps({**identity, "items": shown, "metadata": metadata})
    return orjson.dumps({**identity, "metadata": metadata, "items": [*_typed(page)]})


def _typed(page: list[JsonObject]) -> Iterator[JsonObject]:
    """Yield the items as lists of typed kinds hold them: without their kind."""
    for obj in page:
        yield {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
