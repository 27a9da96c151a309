"""An API server in memory: requests in, answers out, as over HTTP but without a network.

It does what KUDO relies on as kube-apiserver does it; `tests/integration/conformance` compares the
two. It decides by itself neither who may do what (RBAC) nor how long anything takes.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

import orjson

from kubeio.types import Json, JsonObject
from tests.support.apiserver import status
from tests.support.apiserver.reads.reading import Reader
from tests.support.apiserver.reads.selection import partial, read_selection
from tests.support.apiserver.reads.watching import Watch
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.storage import Storage
from tests.support.apiserver.types import documents
from tests.support.apiserver.types.kinds import BUILT_IN, POD, Kind
from tests.support.apiserver.types.registry import Registry
from tests.support.apiserver.writes.admission import Admission, AllowAll
from tests.support.apiserver.writes.deleting import Deleter
from tests.support.apiserver.writes.writing import Options, Target, Writer, Written

_BUILT_IN = frozenset(kind.group for kind in BUILT_IN)
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_MOST_BYTES = 3 * 2**20


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it would go over the wire.

    Attributes:
        user: Who the credential belongs to.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = "application/json"
    accept: str = "application/json"
    user_agent: str = "kubeio"
    user: str = "admin"

    @property
    def options(self) -> Options:
        return Options(
            manager=self.query.get("fieldManager") or self.user_agent.partition("/")[0],
            user=self.user,
            dry_run=self.query.get("dryRun") == "All",
            force=self.query.get("force") == "true",
        )


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: a body, or a watch that goes on."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    watch: Watch | None = None


class Command(NamedTuple):
    """What is to be run in a container."""

    namespace: str
    pod: str
    arguments: Sequence[str]


class Ran(NamedTuple):
    """How a command ended."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""


def _nothing_runs(command: Command) -> Ran:
    raise status.bad_request(f"pod {command.pod} does not have a host assigned")


class ApiServer:
    """The server.

    Args:
        now: Returns the time in RFC 3339, by the second.
        rng: Source of uids.
        admission: Judges writes.

    Attributes:
        execute: Runs commands in containers.
        authorize: Called with every request; the StatusError that it raises is the answer.
        may: Answers access reviews: whether a user may do what their attributes say.
        serving: The request that is being carried out; None while controllers write.
        version: What /version says.
        now: Its clock.
    """

    def __init__(
        self, now: Callable[[], str], rng: random.Random, admission: Admission | None = None
    ) -> None:
        self.now = now
        self.storage = Storage()
        self.registry = Registry()
        self.storage.listeners.append(self.registry.follow)
        self.writer = Writer(self.storage, admission or AllowAll(), now, rng)
        self.deleter = Deleter(self.writer)
        self.reader = Reader(self.storage)
        self.execute: Callable[[Command], Ran] = _nothing_runs
        self.authorize: Callable[[Request], None] = _everything_is_allowed
        self.may: Callable[[str, JsonObject], bool] = _everybody_may
        self.serving: Request | None = None
        self.version = documents.VERSION

    def handle(self, request: Request) -> Response:
        """Do what a request asks for; whatever is refused becomes a Status."""
        self.serving = request
        try:
            self.authorize(request)
            if len(request.body) > _MOST_BYTES:
                text = "Request entity too large: limit is 3145728"
                raise StatusError(413, "RequestEntityTooLarge", text)
            return self._answer(request)
        except StatusError as error:
            return refusal(error)
        finally:
            self.serving = None

    def date(self) -> str:
        """Return the Date header of an answer that is sent now."""
        return _http_date(self.now())

    def find_pod(self, namespace: str, name: str) -> JsonObject:
        return self.writer.find(Target(POD, namespace, name))

    def _answer(self, request: Request) -> Response:
        document = self._document(request)
        if document is not None:
            return _json(200, document)
        if (request.method, request.path) == ("POST", _REVIEWS):
            return _json(201, self._reviewed(request))
        target = self._target(request.path)
        if target.name:
            return self._one(request, target)
        return self._many(request, target)

    def _reviewed(self, request: Request) -> JsonObject:
        review: JsonObject = _decoded(request.body)
        allowed = self.may(request.user, review["spec"]["resourceAttributes"])
        return {**review, "status": {"allowed": allowed}}

    def _document(self, request: Request) -> JsonObject | None:
        parts = request.path.strip("/").split("/")
        aggregated = documents.is_aggregated(request.accept)
        match parts:
            case ["version"]:
                return self.version
            case ["api"]:
                if aggregated:
                    return documents.aggregated(self.registry, core=True)
                return documents.core_versions()
            case ["apis"]:
                if aggregated:
                    return documents.aggregated(self.registry, core=False)
                return documents.group_list(self.registry)
            case ["api", version]:
                return documents.resource_list(self.registry, "", version) or _absent("")
            case ["apis", group]:
                return documents.group(self.registry, group) or _absent(group)
            case ["apis", group, version]:
                return documents.resource_list(self.registry, group, version) or _absent(group)
        return None

    def _target(self, path: str) -> Target:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        match parts:
            case ["api", version, *rest]:
                group = ""
            case ["apis", group, version, *rest]:
                pass
            case _:
                raise status.no_such_path()
        namespace = ""
        match rest:
            case ["namespaces", namespace, plural, *more] if plural not in ("finalize", "status"):
                pass
            case [plural, *more]:
                namespace = ""
            case _:
                raise status.no_such_path()
        kind = self.registry.find(group, version, plural)
        if kind is None or len(more) > 2 or (bool(namespace) and not kind.namespaced):
            raise status.no_such_resource() if group in _BUILT_IN else status.no_such_path()
        name, subresource, *_ = [*more, "", ""]
        if subresource and subresource not in kind.subresources:
            raise status.not_found(kind.about(name)) if kind.custom else status.no_such_resource()
        return Target(kind, namespace, name, subresource)

    def _many(self, request: Request, target: Target) -> Response:
        match request.method:
            case "GET":
                return self._listed(request, target)
            case "POST" if bool(target.namespace) == target.kind.namespaced:
                body = _decoded(request.body)
                return _written(self.writer.create(target, body, request.options))
        raise status.method_not_allowed()

    def _listed(self, request: Request, target: Target) -> Response:
        selection = read_selection(
            request.query, target.namespace or None, request.accept, target.kind.fields
        )
        if request.query.get("watch") in ("true", "1"):
            watch = self.reader.watch(target.kind, selection, request.query)
            return Response(200, watch=watch)
        return Response(200, self.reader.list(target.kind, selection, request.query))

    def _one(self, request: Request, target: Target) -> Response:
        match request.method:
            case "GET":
                obj = _versioned(target.kind, self.writer.find(target))
                return _json(200, partial(obj) if _wants_metadata(request) else obj)
            case "PUT":
                body = _decoded(request.body)
                return _written(self.writer.replace(target, body, request.options))
            case "PATCH":
                return _written(self._patched(request, target))
            case "DELETE" if not target.subresource:
                wishes = _decoded(request.body) if request.body else {}
                dry_run = wishes.get("dryRun") == ["All"] or request.options.dry_run
                options = Options(user=request.user, dry_run=dry_run)
                return _json(200, self.deleter.delete(target, wishes, options))
        raise status.method_not_allowed()

    def _patched(self, request: Request, target: Target) -> Written:
        patch = _decoded(request.body)
        if request.content_type == "application/json-patch+json":
            return self.writer.json_patch(target, patch, request.options)
        if request.content_type == "application/merge-patch+json":
            return self.writer.merge_patch(target, patch, request.options)
        if request.content_type != "application/apply-patch+yaml":
            raise status.unsupported_media_type("415: Unsupported Media Type")
        if not request.query.get("fieldManager"):
            raise _without_manager()
        return self.writer.apply(target, patch, request.options)


@lru_cache(maxsize=16)
def _http_date(now: str) -> str:
    return format_datetime(datetime.fromisoformat(now), usegmt=True)


def refusal(error: StatusError) -> Response:
    """Return the answer that tells a refusal."""
    if error.page:
        return Response(error.code, error.message.encode(), error.headers)
    return Response(error.code, orjson.dumps(error.body()), error.headers)


def _everything_is_allowed(request: Request) -> None:
    del request


def _everybody_may(user: str, attributes: JsonObject) -> bool:
    del user, attributes
    return True


def _absent(group: str) -> JsonObject:
    raise status.no_such_resource() if group in _BUILT_IN else status.no_such_path()


def _without_manager() -> StatusError:
    text = "Required value: is required for apply patch"
    cause = status.Cause("FieldValueRequired", text, "fieldManager")
    return status.invalid("PatchOptions", "meta.k8s.io", "", cause)


def _wants_metadata(request: Request) -> bool:
    return "as=PartialObjectMetadata" in request.accept.split(",")[0]


def _decoded(body: bytes) -> Json:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise status.bad_request(f"the body is no JSON: {error}") from None


def _written(written: Written) -> Response:
    body = orjson.dumps(written.obj)
    return Response(201 if written.created else 200, body, warnings=written.warnings)


def _json(code: int, document: JsonObject) -> Response:
    return Response(code, orjson.dumps(document))


def _versioned(kind: Kind, obj: JsonObject) -> JsonObject:
    if obj["apiVersion"] == kind.api_version:
        return obj
    return {**obj, "apiVersion": kind.api_version}
