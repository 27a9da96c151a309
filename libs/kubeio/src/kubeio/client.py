"""The verbs of the Kubernetes API over plain dictionaries.

A call returns the decoded answer or raises one of ``kubeio.errors``, within the client's timeout.
The client caches nothing and retries nothing but what ``connection.transport`` says; informers
cache, and callers retry. Lists and watches fill in ``apiVersion`` and ``kind``, which the API
server leaves out of list items.
"""

import copy
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Literal, NamedTuple, Self, TypedDict, Unpack

from kubeio.connection.auth import Identity, impersonating
from kubeio.connection.config import ClusterConfig
from kubeio.connection.round_tripper import Call, OnRequest, RoundTripper, ServerDate
from kubeio.connection.tracing import Tracer
from kubeio.connection.transport import Transport
from kubeio.errors import ConnectionLost, Gone, Malformed
from kubeio.exec import PROTOCOLS, ExecResult, exec_query, read_result
from kubeio.listing import read_page
from kubeio.loops import finished
from kubeio.resource import PODS, Resource, name_of, namespace_of
from kubeio.types import Json, JsonObject, Transform
from kubeio.watch import WatchEvent, bookmark_fault, events, fault_in, nameless

FieldValidation = Literal["Ignore", "Warn", "Strict"]
Propagation = Literal["Background", "Foreground", "Orphan"]

PAGE_CHARACTERS = 8 * 2**20
"""Target length of a page of a list. A page is in memory whole, here and in the API server, and is
read again when its connection breaks."""
_FIRST_PAGE = 100  # objects; their size is unknown before the first page
_APPLY = "application/apply-patch+yaml"
_MERGE_PATCH = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
_AS_METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1,application/json"


class Selection(TypedDict, total=False):
    """Which objects a list has, and what of them.

    Attributes:
        namespace: all namespaces by default.
        limit: objects in a page, 500 by default; 0 for all of them in one.
        metadata_only: PartialObjectMetadata of them, if the server has that.
        transform: applied to each object before the next one is decoded; what it returns takes the
            place of the object.
    """

    namespace: str | None
    label_selector: str | None
    field_selector: str | None
    limit: int
    metadata_only: bool
    transform: Transform | None


class WriteOptions(TypedDict, total=False):
    """Options of the writes of objects; a dry run changes nothing."""

    dry_run: bool
    field_manager: str | None
    field_validation: FieldValidation | None


class ListResult(NamedTuple):
    """Objects, and the resourceVersion from which a watch can continue."""

    items: list[JsonObject]
    resource_version: str


class Client:
    """Async access to one API server.

    Args:
        config: address of the API server and credentials.
        timeout: seconds for one call, including the wait for a connection.
        max_connections: concurrent calls; further ones wait. Watches are not counted.
        finish_writes: await the answer to a write even if the caller is cancelled, so that the
            write cannot take effect after the call has ended.
        transport: replaces HTTP; applies its own limits.
        tracer: is told what is sent and received, without credentials; websockets are left out.

    Attributes:
        identity: the user to impersonate, None for the configuration's; see ``acting``.
        on_warning: called with each new text of a Warning header.
        before_write: called in the loop iteration in which a write is sent; an exception it raises
            is raised by the call, and nothing is sent.
        on_request: called after every request that was sent, with its outcome, for metrics.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        timeout: float = 30.0,
        max_connections: int = 100,
        finish_writes: bool = False,
        transport: RoundTripper | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.config = config
        self._finish_writes = finish_writes
        self.identity: Identity | None = None
        self._http: RoundTripper = transport or Transport(
            config, timeout=timeout, max_connections=max_connections, tracer=tracer
        )

    async def __aenter__(self) -> Self:
        await self._http.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._http.close()

    @property
    def on_warning(self) -> Callable[[str], None] | None:
        return self._http.warnings.handler

    @on_warning.setter
    def on_warning(self, handler: Callable[[str], None] | None) -> None:
        self._http.warnings.handler = handler

    @property
    def before_write(self) -> Callable[[], None] | None:
        return self._http.before_write

    @before_write.setter
    def before_write(self, hook: Callable[[], None] | None) -> None:
        self._http.before_write = hook

    @property
    def on_request(self) -> OnRequest | None:
        return self._http.on_request

    @on_request.setter
    def on_request(self, handler: OnRequest | None) -> None:
        self._http.on_request = handler

    @property
    def last_date(self) -> ServerDate | None:
        """Return the Date of the last answer, or of one in the second before it; None at first.

        Answers to websockets are not counted.
        """
        return self._http.last_date

    def acting(self, identity: Identity | None) -> Self:
        """Return a view of this client whose every request acts as `identity`.

        Both share connections, credentials and hooks; a hook set on either applies to both. Open
        and close only this client. `identity` replaces the impersonation of the configuration;
        None restores it. Returns this client if `identity` is the current one.
        """
        if identity == self.identity:
            return self
        view = copy.copy(self)
        view.identity = identity
        return view

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        metadata_only: bool = False,
    ) -> JsonObject:
        """Return one object, by a consistent read (no resourceVersion).

        With ``metadata_only``, a PartialObjectMetadata of it, if the server has that.
        """
        path = resource.path(namespace, name, subresource)
        return await self._object(
            self._call("GET", path, accept=_accept("" if metadata_only else None))
        )

    async def list(self, resource: Resource, **selection: Unpack[Selection]) -> ListResult:
        """Return all objects of a namespace, or of all namespaces, as one snapshot.

        Reads in pages. If the snapshot expires, starts over once.

        Raises:
            Gone: the snapshot expired twice.
        """
        for last_try in (False, True):
            objects: list[JsonObject] = []
            version = ""
            try:
                async for page in self.pages(resource, **selection):
                    objects += page.items
                    version = page.resource_version
            except Gone:
                if last_try:
                    raise
                continue
            return ListResult(objects, version)
        raise AssertionError("unreachable")

    async def pages(
        self, resource: Resource, **selection: Unpack[Selection]
    ) -> AsyncGenerator[ListResult, None]:
        """Yield a list page by page; only one page is in memory at a time.

        After large objects the next page asks for fewer than ``limit`` (``PAGE_CHARACTERS``).

        Raises:
            Gone: the snapshot expired between two pages; list again.
            Malformed: an item has no name.
        """
        path = resource.path(selection.get("namespace"))
        accept = _accept("List" if selection.get("metadata_only") else None)
        query = _query(
            labelSelector=selection.get("label_selector"),
            fieldSelector=selection.get("field_selector"),
        )
        limit = selection.get("limit", 500)
        page_limit = min(limit, _FIRST_PAGE)
        transform = selection.get("transform")

        def taken(item: Json) -> JsonObject:
            _identify(item, resource, path, nameless(item))
            return item if transform is None else transform(item)

        while True:
            if page_limit:
                query["limit"] = str(page_limit)
            call = self._call("GET", path, query=query, accept=accept, verb="LIST")
            async with self._http.answer(call) as chunks:
                page = await read_page(chunks, call.subject, taken)
            metadata, items = page.metadata, page.items
            if items is None or not isinstance(metadata, dict):
                # Treated as an empty list, this answer would delete everything from a cache.
                raise ConnectionLost(f"GET {path}: not a Kubernetes list: metadata is missing")
            if items:
                page_limit = min(limit, max(1, PAGE_CHARACTERS * len(items) // page.characters))
            yield ListResult(items, str(metadata.get("resourceVersion") or ""))
            if not metadata.get("continue"):
                return
            query["continue"] = metadata["continue"]

    async def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        resource_version: str,
        label_selector: str | None = None,
        field_selector: str | None = None,
        timeout_seconds: int = 300,
        metadata_only: bool = False,
        idle_timeout: float | None = None,
        on_open: Callable[[], None] | None = None,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yield changes after ``resource_version`` until the server ends the watch.

        Ends normally after about ``timeout_seconds``. Wrap it in ``contextlib.aclosing`` if the
        loop may be left early; otherwise the connection stays open until garbage collection.

        A connection without data for ``idle_timeout`` seconds counts as lost; the default is
        ``timeout_seconds`` plus 30 s. ``on_open`` is called once the server has accepted the watch.

        Raises:
            Gone: the version is too old (as HTTP status or in the stream); list again.
            Malformed: an event cannot be read. A new watch would receive it again, so list again.
            ApiError: the server rejected the watch, or sent an ERROR event.
            ConnectionLost: the connection broke, or was idle for too long.
        """
        query = _query(labelSelector=label_selector, fieldSelector=field_selector)
        query |= {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
        }
        idle = timeout_seconds + 30.0 if idle_timeout is None else idle_timeout
        path = resource.path(namespace)
        accept = _accept("" if metadata_only else None)
        call = self._call("GET", path, query=query, accept=accept)
        async with self._http.stream(call, idle_timeout=idle) as chunks:
            if on_open is not None:
                on_open()
            async for event in events(chunks, path):
                fault = (
                    bookmark_fault(event.object)
                    if event.type == "BOOKMARK"
                    else fault_in(event.object, namespaced=resource.namespaced, versioned=True)
                )
                _identify(event.object, resource, path, fault)
                yield event

    async def create(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        namespace: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> JsonObject:
        """Create an object; ``namespace`` is needed only if the object has none.

        Raises:
            AlreadyExists: the name is taken.
        """
        path = resource.path(namespace or _namespace(resource, obj))
        return await self._object(self._call("POST", path, query=_write_query(options), body=obj))

    async def apply(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        field_manager: str,
        namespace: str | None = None,
        subresource: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
    ) -> JsonObject:
        """Server-side apply: create the object or update the fields that it sets.

        The object needs apiVersion, kind and name, and no managedFields. With a resourceVersion it
        is applied only to that version.

        Raises:
            Conflict: another manager owns a field (``field_managers``), or the resourceVersion
                differs.
        """
        path = resource.path(namespace or _namespace(resource, obj), name_of(obj), subresource)
        query = _query(
            dryRun="All" if dry_run else None,
            fieldManager=field_manager,
            fieldValidation=field_validation,
            force="true" if force else None,
        )
        return await self._object(
            self._call("PATCH", path, query=query, body=obj, content_type=_APPLY, verb="APPLY")
        )

    async def merge_patch(
        self,
        resource: Resource,
        name: str,
        patch: JsonObject,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> JsonObject:
        """Send a JSON merge patch (RFC 7386); null removes a field.

        With a ``metadata.resourceVersion`` in the patch, another version is a Conflict.
        """
        path, query = resource.path(namespace, name, subresource), _write_query(options)
        return await self._object(
            self._call("PATCH", path, query=query, body=patch, content_type=_MERGE_PATCH)
        )

    async def json_patch(
        self,
        resource: Resource,
        name: str,
        ops: Sequence[JsonObject],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> JsonObject:
        """Send a JSON patch (RFC 6902); all its operations are applied, or none.

        Raises:
            Invalid: a ``test`` failed, or a path does not exist.
        """
        path, query = resource.path(namespace, name, subresource), _write_query(options)
        return await self._object(
            self._call("PATCH", path, query=query, body=[*ops], content_type=_JSON_PATCH)
        )

    async def replace(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> JsonObject:
        """Replace the whole object (PUT).

        Raises:
            Conflict: the object's resourceVersion is not the current one. An object without one
                overwrites whatever is stored.
        """
        path = resource.path(namespace or _namespace(resource, obj), name_of(obj), subresource)
        return await self._object(self._call("PUT", path, query=_write_query(options), body=obj))

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        propagation: Propagation | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Delete an object; ``uid`` and ``resource_version`` are preconditions.

        Returns:
            The object with its deletionTimestamp if finalizers or a grace period keep it; else a
            Status, or the last state of the object.

        Raises:
            NotFound: the object does not exist.
            Conflict: a precondition does not hold.
        """
        conditions = _query(uid=uid, resourceVersion=resource_version)
        options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1"}
        options |= {"preconditions": conditions} if conditions else {}
        options |= {"propagationPolicy": propagation} if propagation else {}
        options |= {"dryRun": ["All"]} if dry_run else {}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        return await self._object(
            self._call("DELETE", resource.path(namespace, name), body=options)
        )

    async def exec(
        self,
        pod: str,
        container: str,
        command: Sequence[str],
        *,
        namespace: str,
        limit: int,
        timeout: float | None = None,
    ) -> ExecResult:
        """Run a command in a container and return its output and exit code.

        Counts as a write: ``before_write`` is called. The API takes no uid for an exec, so check
        first that the pod is the one you mean.

        No shell reads ``command``. It may write ``limit`` bytes on stdout and stderr together, and
        has to end within ``timeout`` seconds, by default the client's.

        Raises:
            ApiError: the API server rejected the exec, or the container cannot run the command.
            ConnectionLost: the connection broke, or the timeout passed, before the exit code came.
            OutputTooLarge: the command wrote more than `limit` bytes.
        """
        path, query = PODS.path(namespace, pod, "exec"), exec_query(container, command)
        call = self._call("GET", path, query=query, accept="*/*", verb="EXEC")
        frames = self._http.websocket(call, protocols=PROTOCOLS, timeout=timeout)
        async with frames as received:
            return await read_result(received, command, limit)

    async def raw(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Json = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Json:
        """Send any request; ``path`` is a URL path, quoted.

        Returns:
            The decoded answer, None if it is empty.
        """
        call = self._call(
            method, path, query=query or {}, body=body, content_type=content_type, accept=accept
        )
        return await self._http.call(call)

    def text(
        self, path: str, *, query: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[AsyncIterable[bytes]]:
        """Open a GET whose answer is no JSON, such as a log, and yield its chunks as they arrive.

        All of it, the block included, takes the client's timeout at most.

        Raises:
            ApiError, ConnectionLost: also while the chunks are read.
        """
        return self._http.answer(
            self._call("GET", path, query=query or {}, accept="text/plain, */*", verb="GET")
        )

    async def server_version(self) -> JsonObject:
        """Return the server's version (major, minor, gitVersion, …)."""
        return await self._object(self._call("GET", "/version"))

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        body: Json = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        verb: str = "",
    ) -> Call:
        headers = impersonating(self.config.headers, self.identity)
        return Call(method, path, query, body, content_type, accept, headers, verb)

    async def _object(self, call: Call) -> JsonObject:
        sending = self._http.call(call)
        # A dry run changes nothing, so a cancelled one need not be awaited.
        changes = call.method != "GET" and "dryRun" not in dict(call.query)
        answer = await (finished(sending) if changes and self._finish_writes else sending)
        if isinstance(answer, dict):
            return answer
        raise ConnectionLost(f"{call.subject}: the answer is not a JSON object")


def _query(**parameters: str | None) -> dict[str, str]:
    return {key: value for key, value in parameters.items() if value}


def _write_query(options: WriteOptions) -> dict[str, str]:
    return _query(
        dryRun="All" if options.get("dry_run") else None,
        fieldManager=options.get("field_manager"),
        fieldValidation=options.get("field_validation"),
    )


def _accept(metadata_of: str | None) -> str:
    """Return the Accept header for whole objects, or for PartialObjectMetadata or a List of it."""
    return "application/json" if metadata_of is None else _AS_METADATA.format(metadata_of)


def _namespace(resource: Resource, obj: JsonObject) -> str | None:
    namespace = namespace_of(obj)
    if namespace is None and resource.namespaced:
        raise ValueError(f"{resource.kind} is namespaced: set metadata.namespace")
    return namespace


def _identify(obj: JsonObject, resource: Resource, path: str, fault: str) -> None:
    if fault:
        raise Malformed(f"GET {path}: not a Kubernetes object: {fault}")
    obj["apiVersion"] = resource.api_version
    obj["kind"] = resource.kind
