"""The verbs of the Kubernetes API over plain dictionaries.

A call either returns the decoded answer or raises one of ``kubeio.errors``; none of them waits
longer than the client's timeout. Nothing is cached and nothing is retried here, but for what
``connection.transport`` says: reading, caching and retrying are the informer's and the caller's
business. Lists and watches fill in ``apiVersion`` and ``kind``, which the server leaves out of list
items.
"""

import copy
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Literal, NamedTuple, Self

from kubeio.connection.completion import finished
from kubeio.connection.config import ClusterConfig
from kubeio.connection.identity import Headers, Identity, impersonating
from kubeio.connection.requests import OnRequest
from kubeio.connection.round_tripper import RoundTripper
from kubeio.connection.transport import Transport
from kubeio.decoding.listing import read_page
from kubeio.decoding.metadata import fault_in, nameless
from kubeio.decoding.watch import WatchEvent, events
from kubeio.errors import ConnectionLost, Gone, Malformed
from kubeio.exec import PROTOCOLS, ExecResult, exec_query, read_result
from kubeio.kinds import PODS
from kubeio.resource import Resource, name_of, namespace_of
from kubeio.types import Json, JsonObject, Transform

FieldValidation = Literal["Ignore", "Warn", "Strict"]
Propagation = Literal["Background", "Foreground", "Orphan"]

PAGE_CHARACTERS = 8 * 2**20
"""How long a page of a list should be: what the API server and we hold of it at once, and what is
read anew when it breaks."""
_FIRST_PAGE = 100  # objects of a size that is not known yet
_AS_METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1,application/json"


class ListResult(NamedTuple):
    """Objects, and the resourceVersion that a watch can go on from."""

    items: list[JsonObject]
    resource_version: str


class Client:
    """Async access to one API server.

    Args:
        config: where and as whom.
        timeout: seconds that one call may take in all, waiting for a connection included.
        max_connections: concurrent calls; further ones wait. Watches are not counted.
        finish_writes: await the answer to a write although the caller was cancelled: once the
            call has ended, nothing of it is on the wire.
        transport: what requests are sent through instead of HTTP; it has limits of its own.

    Attributes:
        identity: whom its requests act as, None as the configuration says; see ``acting``.
        on_warning: called with each new text of a Warning header.
        before_write: called in the tick in which a write is sent; what it raises is raised by
            the call, and nothing has been sent.
        on_request: told of every request that went out and how it ended, for metrics.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        timeout: float = 30.0,
        max_connections: int = 100,
        finish_writes: bool = False,
        transport: RoundTripper | None = None,
    ) -> None:
        self.config = config
        self._finish_writes = finish_writes
        self.identity: Identity | None = None
        self._http: RoundTripper = transport or Transport(
            config, timeout=timeout, max_connections=max_connections
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
    def before_write(self, guard: Callable[[], None] | None) -> None:
        self._http.before_write = guard

    @property
    def on_request(self) -> OnRequest | None:
        return self._http.on_request

    @on_request.setter
    def on_request(self, handler: OnRequest | None) -> None:
        self._http.on_request = handler

    def acting(self, identity: Identity | None) -> Self:
        """Return a view of this client whose every request acts as `identity`.

        It shares connections, credential and hooks with this client, whichever of the two a hook
        is set on. Only this client is opened and closed. An identity takes the place of the one
        that the configuration has; None means that of the configuration. The client returns
        itself where it acts so already.
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
    ) -> JsonObject:
        """Return one object, read consistently."""
        return await self._object("GET", resource.path(namespace, name, subresource))

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int = 500,
        metadata_only: bool = False,
    ) -> ListResult:
        """Return all objects of a namespace, or of all, as of one moment.

        Reads in pages of ``limit``; if the snapshot expires meanwhile, once more from the start.

        Raises:
            Gone: the snapshot expired twice.
        """
        for last_try in (False, True):
            found: list[JsonObject] = []
            version = ""
            try:
                async for page in self.pages(
                    resource,
                    namespace=namespace,
                    label_selector=label_selector,
                    field_selector=field_selector,
                    limit=limit,
                    metadata_only=metadata_only,
                ):
                    found += page.items
                    version = page.resource_version
            except Gone:
                if last_try:
                    raise
                continue
            return ListResult(found, version)
        raise AssertionError("unreachable")

    async def pages(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int = 500,
        metadata_only: bool = False,
        transform: Transform | None = None,
    ) -> AsyncGenerator[ListResult, None]:
        """Yield a list page by page, so that only one of them is in memory.

        ``transform`` shrinks each object before the next one is decoded. A page asks for fewer
        objects than ``limit`` where those of the page before were large (``PAGE_CHARACTERS``).

        Raises:
            Gone: the snapshot expired between two pages; start again.
            Malformed: an item has no name.
        """
        path = resource.path(namespace)
        accept = _AS_METADATA.format("List") if metadata_only else "application/json"
        query = _query(labelSelector=label_selector, fieldSelector=field_selector)
        wanted = min(limit, _FIRST_PAGE)

        def taken(item: Json) -> JsonObject:
            _identify(item, resource, path, nameless(item))
            return item if transform is None else transform(item)

        while True:
            if wanted:
                query["limit"] = str(wanted)
            listed = self._http.answer(
                path, query=query, accept=accept, verb="LIST", headers=self._headers
            )
            async with listed as chunks:
                page = await read_page(chunks, f"GET {path}", taken)
            metadata, items = page.metadata, page.items
            if items is None or not isinstance(metadata, dict):
                # Taken for an empty list, it would empty every cache that reads it.
                raise ConnectionLost(f"GET {path}: not a list of the API: it lacks its metadata")
            if items:
                wanted = min(limit, max(1, PAGE_CHARACTERS * len(items) // page.characters))
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

        Ends normally after about ``timeout_seconds``. Wrap it in ``contextlib.aclosing`` where
        it may be left early, so that the connection is closed at once.

        After ``idle_timeout`` seconds without a byte the connection counts as dead; by default
        that is 30 s longer than the server would keep it. ``on_open`` is called once the server has
        accepted the watch.

        Raises:
            Gone: the version is too old (as HTTP status or in the stream); list again.
            Malformed: an event cannot be read; the same would come again, so list again.
            ApiError: the server refused, or reported an error in the stream.
            ConnectionLost: the stream broke, or stood still.
        """
        query = _query(labelSelector=label_selector, fieldSelector=field_selector)
        query |= {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(timeout_seconds),
        }
        accept = _AS_METADATA.format("") if metadata_only else "application/json"
        idle = timeout_seconds + 30.0 if idle_timeout is None else idle_timeout
        path = resource.path(namespace)
        watched = self._http.stream(
            path, query=query, accept=accept, idle_timeout=idle, headers=self._headers
        )
        async with watched as chunks:
            if on_open is not None:
                on_open()
            async for event in events(chunks, path):
                if event.type == "BOOKMARK":
                    _identify_bookmark(event.object, resource, path)
                else:
                    scoped = resource.namespaced
                    fault = fault_in(event.object, namespaced=scoped, versioned=True)
                    _identify(event.object, resource, path, fault)
                yield event

    async def create(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> JsonObject:
        """Create an object; ``namespace`` is needed only where the object does not name it.

        Raises:
            AlreadyExists: the name is taken.
        """
        path = resource.path(namespace or _namespace(resource, obj))
        query = _write_options(dry_run, field_manager, field_validation)
        return await self._object("POST", path, query=query, body=obj)

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
        """Apply an object on the server side; creates it if it does not exist.

        The object must name apiVersion, kind and name, and must not hold managedFields. One
        that carries a resourceVersion is applied to exactly that version.

        Raises:
            Conflict: ``field_managers`` names who owns what; or the resourceVersion differs.
        """
        path = resource.path(namespace or _namespace(resource, obj), name_of(obj), subresource)
        query = _write_options(dry_run, field_manager, field_validation)
        if force:
            query["force"] = "true"
        return await self._object(
            "PATCH",
            path,
            query=query,
            body=obj,
            content_type="application/apply-patch+yaml",
            verb="APPLY",
        )

    async def merge_patch(
        self,
        resource: Resource,
        name: str,
        patch: JsonObject,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> JsonObject:
        """Apply an RFC 7386 patch; null removes a field.

        A ``metadata.resourceVersion`` in the patch makes it conditional (Conflict).
        """
        return await self._object(
            "PATCH",
            resource.path(namespace, name, subresource),
            query=_write_options(dry_run, field_manager, field_validation),
            body=patch,
            content_type="application/merge-patch+json",
        )

    async def json_patch(
        self,
        resource: Resource,
        name: str,
        ops: Sequence[JsonObject],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> JsonObject:
        """Apply RFC 6902 operations, all or none.

        Raises:
            Invalid: a ``test`` failed, or a path does not exist.
        """
        return await self._object(
            "PATCH",
            resource.path(namespace, name, subresource),
            query=_write_options(dry_run, field_manager, field_validation),
            body=[*ops],
            content_type="application/json-patch+json",
        )

    async def replace(
        self,
        resource: Resource,
        obj: JsonObject,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
    ) -> JsonObject:
        """Put the whole object; the resourceVersion that it carries must be the current one.

        Raises:
            Conflict: it is not. Without a resourceVersion the last writer wins.
        """
        return await self._object(
            "PUT",
            resource.path(namespace or _namespace(resource, obj), name_of(obj), subresource),
            query=_write_options(dry_run, field_manager, field_validation),
            body=obj,
        )

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
        """Delete an object, and only that very one if ``uid`` or ``resource_version`` is given.

        Returns:
            The object, with deletionTimestamp, where it stays for finalizers or grace; else a
            Status, or the last state.

        Raises:
            NotFound: it is gone already.
            Conflict: a precondition does not hold.
        """
        conditions = _query(uid=uid, resourceVersion=resource_version)
        options: JsonObject = {"kind": "DeleteOptions", "apiVersion": "v1"}
        options |= {"preconditions": conditions} if conditions else {}
        options |= {"propagationPolicy": propagation} if propagation else {}
        options |= {"dryRun": ["All"]} if dry_run else {}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        return await self._object("DELETE", resource.path(namespace, name), body=options)

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
        """Run a command in a container and return what it wrote.

        It counts as a write. It names no uid: whether the pod is the right one is to be checked
        before.

        Args:
            pod: Name of the pod.
            container: Name of the container in it.
            command: Program and arguments; no shell reads them.
            namespace: Namespace of the pod.
            limit: Bytes of output and errors that are taken.
            timeout: Seconds for all of it, by default those of any call.

        Raises:
            ApiError: the API server refused, or the container could not run the command.
            ConnectionLost: the connection broke, or time ran out, before the exit code was known.
            OutputTooLarge: there was more than `limit` bytes.
        """
        frames = self._http.websocket(
            PODS.path(namespace, pod, "exec"),
            query=exec_query(container, command),
            protocols=PROTOCOLS,
            verb="EXEC",
            timeout=timeout,
            headers=self._headers,
        )
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
        """Send any request; ``path`` is an already quoted URL path.

        Returns:
            The decoded answer, None if it is empty.
        """
        return await self._http.call(
            method,
            path,
            query=query or {},
            body=body,
            content_type=content_type,
            accept=accept,
            headers=self._headers,
        )

    async def server_version(self) -> JsonObject:
        """Return the server's version (major, minor, gitVersion, …)."""
        return await self._object("GET", "/version")

    @property
    def _headers(self) -> Headers:
        return impersonating(self.config.headers, self.identity)

    async def _object(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Json = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        verb: str = "",
    ) -> JsonObject:
        call = self._http.call(
            method,
            path,
            query=query or {},
            body=body,
            content_type=content_type,
            accept=accept,
            verb=verb,
            headers=self._headers,
        )
        # A dry run changes nothing: whether it arrived does not matter.
        changes = method != "GET" and "dryRun" not in (query or {})
        answer = await (finished(call) if changes and self._finish_writes else call)
        if isinstance(answer, dict):
            return answer
        raise ConnectionLost(f"{method} {path}: the answer is no JSON object")


def _query(**parameters: str | None) -> dict[str, str]:
    return {key: value for key, value in parameters.items() if value}


def _write_options(
    dry_run: bool, field_manager: str | None, field_validation: str | None
) -> dict[str, str]:
    return _query(
        dryRun="All" if dry_run else None,
        fieldManager=field_manager,
        fieldValidation=field_validation,
    )


def _namespace(resource: Resource, obj: JsonObject) -> str | None:
    found = namespace_of(obj)
    if found is None and resource.namespaced:
        raise ValueError(f"{resource.kind} is namespaced: the object must name its namespace")
    return found


def _identify(obj: Json, resource: Resource, path: str, fault: str) -> None:
    if fault:
        raise Malformed(f"GET {path}: not an object of the API: {fault}")
    _name_kind(obj, resource)


def _identify_bookmark(obj: JsonObject, resource: Resource, path: str) -> None:
    metadata = obj.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    if not version or not isinstance(version, str):
        raise Malformed(f"GET {path}: a bookmark has no metadata.resourceVersion")
    _name_kind(obj, resource)


def _name_kind(obj: JsonObject, resource: Resource) -> None:
    obj["apiVersion"] = resource.api_version
    obj["kind"] = resource.kind
