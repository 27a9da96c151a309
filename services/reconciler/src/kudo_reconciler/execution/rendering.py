"""Renders the templates of tenants, hashes their ConfigMaps and Secrets, reads their env files.

    exceeded a limit before? ──> the same error at once
    small? ── yes ──> inline, under limits that the event loop can afford ── done
      └── no, or a limit was exceeded ──> in a worker process, under the full limits

A call to a worker costs more than rendering an ordinary template, so small ones are rendered
inline. Only a limit sends them to a worker; any other error is final. Requests that needed a
worker, or exceeded its limits, are remembered by digest for some time.
"""

import asyncio
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, cast

from kudo.api import JsonObject
from kudo.api.problems import shown
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.api.task_kinds.job import texts_of
from kudo.jobs import condition, digest, env_file, object_check, render
from kudo.jobs.render import Request
from kudo.tasks.pipe import parse_env_file
from kudo.tasks.rendering import Engine, Manifest
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.concurrency import Jobs
from workers import LimitExceeded, WorkerError

_INLINE_SIZE: Final = 64 << 10
"""Characters of templates and parameters of one task."""
_INLINE_TEMPLATES: Final = 20
_TURN: Final = 64 << 10
"""Bytes of an answer that are decoded before the event loop may run other tasks; about 1 ms."""
_KEPT: Final = 500
_KEY: Final = secrets.token_bytes(32)
"""Of digests of requests, which may have secrets: no dump of this process gives these away."""
_SHOWN: Final = 200
"""Characters of an expression in a message."""
_KEPT_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class _Known:
    """The outcome of an earlier rendering.

    Attributes:
        digest: Of the request.
        until: Time of the event loop's clock at which it expires: a worker may have been slow by
            chance.
        failure: The limit that it exceeded in a worker; None if it only needed one.
    """

    digest: bytes
    until: float
    failure: FatalTaskError | None = None


@dataclass(slots=True)
class Known:
    """A cache of the outcomes of requests, least recently used first. Requests are not kept.

    Lookups use Python's hash, which is cheap for small requests, since strings cache theirs. The
    digest of a request is computed only if there is an entry with its hash.
    """

    entries: "OrderedDict[int, _Known]" = field(default_factory=OrderedDict)

    def find(self, request: Request) -> _Known | None:
        """Return the outcome of a request, unless it has expired."""
        key = _hash(request)
        outcome = self.entries.get(key)
        if outcome is None or outcome.until < loop_seconds() or outcome.digest != _digest(request):
            return None
        self.entries.move_to_end(key)
        return outcome

    def put(self, request: Request, failure: FatalTaskError | None = None) -> None:
        """Store an outcome and drop the least recently used one."""
        key = _hash(request)
        until = loop_seconds() + _KEPT_SECONDS
        self.entries[key] = _Known(_digest(request), until, failure)
        self.entries.move_to_end(key)
        if len(self.entries) > _KEPT:
            self.entries.popitem(last=False)


class Renderer:
    """Renders tasks of all tenants.

    Args:
        jobs: Worker processes.
        on_render: Called with the seconds that each rendering took, including the wait for a
            worker.
    """

    def __init__(self, jobs: Jobs, on_render: Callable[[float], None] | None = None) -> None:
        self._jobs = jobs
        self._on_render = on_render or (lambda _: None)
        self._known = Known()
        self._evaluated: dict[bytes, tuple[float, bytes | LimitExceeded]] = {}

    async def objects(self, request: Request, tenant: str) -> tuple[Manifest, ...]:
        """Render Kubernetes objects.

        Args:
            request: The templates and variables; its output is `objects`.
            tenant: Namespace of the Instance.

        Raises:
            FatalTaskError: a template cannot be rendered, or exceeds a limit.
            TransientTaskError: no worker was available.
        """
        return tuple(cast("list[Manifest]", await self._render(request, tenant)))

    async def document(self, request: Request, tenant: str) -> JsonObject:
        """Render a parameter file, the pod of a Pipe task, or a Job task; raises as `objects`."""
        (made,) = await self._render(request, tenant)
        return cast("JsonObject", made)

    async def texts(self, request: Request, tenant: str) -> dict[str, str]:
        """Render texts, by the names of their templates; raises as `objects` does."""
        made = cast("list[dict[str, str]]", await self._render(request, tenant))
        return {name: text for one in made for name, text in one.items()}

    async def digest(self, obj: JsonObject, tenant: str, *, live: bool) -> bytes:
        """Return the 16-byte digest of the content of a ConfigMap or Secret.

        Args:
            obj: The object; its kind must be present.
            tenant: Namespace of the Instance.
            live: Whether it was read from the cluster.

        Raises:
            FatalTaskError: it exceeds a limit.
            TransientTaskError: no worker was available.
        """
        if digest.is_small(obj):
            return digest.digest(obj, live=live)
        what = f"hashing {obj['kind']} {obj['metadata'].get('name')}"
        return await self._call(digest.NAME, digest.encode_request(obj, live=live), tenant, what)

    async def holds(self, request: condition.Request, tenant: str) -> bool:
        """Return whether a condition is true.

        It is evaluated in a worker process, however small it is; results are kept.

        Args:
            request: The condition.
            tenant: Namespace of the Instance.

        Raises:
            FatalTaskError: it cannot be evaluated, or exceeds a limit.
            TransientTaskError: no worker was available.
        """
        what = f"evaluating when: {shown(request.expression, _SHOWN)}"
        try:
            answer = await self._evaluate(condition.NAME, request.encode(), tenant)
        except LimitExceeded as error:
            text = f"{what}: {error}; write a simpler expression"
            raise FatalTaskError("ConditionInvalid", text, limit=error.limit) from error
        except WorkerError as error:
            raise TransientTaskError("ConditionInvalid", f"{what}: {error}") from error
        result = condition.decode_answer(answer)
        if isinstance(result, str):
            raise FatalTaskError("ConditionInvalid", f"{what}: {result}")
        return result

    async def verdict(self, request: object_check.Request, tenant: str) -> object_check.Verdict:
        """Return what the expressions of a Check task say of objects.

        They are evaluated in a worker process, and results are kept, as those of conditions.

        Args:
            request: The expressions and the objects.
            tenant: Namespace of the Instance.

        Raises:
            FatalTaskError: they exceed a limit, reason CheckInvalid.
            TransientTaskError: no worker was available.
        """
        try:
            answer = await self._evaluate(object_check.NAME, request.encode(), tenant)
        except LimitExceeded as error:
            what = f"evaluating check.{error.at}" if error.at else "evaluating check"
            text = f"{what}: {error}; write a simpler expression, or select fewer objects"
            raise FatalTaskError("CheckInvalid", text, limit=error.limit) from error
        except WorkerError as error:
            raise TransientTaskError("CheckInvalid", f"evaluating check: {error}") from error
        return object_check.decode_answer(answer)

    async def _evaluate(self, job: str, payload: bytes, tenant: str) -> bytes:
        """Return the answer of a worker. It is kept, and so is that a limit was exceeded.

        Raises:
            LimitExceeded: a limit of the worker was exceeded.
            WorkerError: no worker was available.
        """
        hasher = hashlib.blake2b(job.encode() + b" ", digest_size=16, key=_KEY)
        hasher.update(payload)
        key = hasher.digest()
        until, answer = self._evaluated.get(key, (0.0, None))
        if answer is None or until < loop_seconds():
            try:
                answer = await self._jobs.call(job, payload, tenant=tenant)
            except LimitExceeded as error:
                # Without the frames of this one, which have the payload.
                answer = LimitExceeded(error.limit, error.maximum, error.at)
            self._evaluated[key] = loop_seconds() + _KEPT_SECONDS, answer
            if len(self._evaluated) > _KEPT:
                del self._evaluated[next(iter(self._evaluated))]
        if isinstance(answer, LimitExceeded):
            raise LimitExceeded(answer.limit, answer.maximum, answer.at)
        return answer

    async def env_file(self, content: bytes, tenant: str) -> dict[str, str]:
        """Return the values of an env file by key.

        Raises:
            EnvFileError: a line cannot be parsed.
            FatalTaskError: it exceeds a limit.
            TransientTaskError: no worker was available.
        """
        if env_file.is_small(content):
            return parse_env_file(content)
        answer = await self._call(env_file.NAME, content, tenant, "reading an env file")
        return env_file.decode_answer(answer)

    async def _render(self, request: Request, tenant: str) -> list[object]:
        started = loop_seconds()
        try:
            if not _is_small(request) or self._known.find(request) is not None:
                return await self._in_worker(request, tenant)
            try:
                return await _inline(request)
            except FatalTaskError as error:
                if not error.limit:
                    raise
            self._known.put(request)
            return await self._in_worker(request, tenant)
        finally:
            self._on_render(loop_seconds() - started)

    async def _in_worker(self, request: Request, tenant: str) -> list[object]:
        outcome = self._known.find(request)
        if outcome is not None and outcome.failure is not None:
            error = outcome.failure
            raise FatalTaskError(error.reason, str(error), limit=error.limit)
        name = request.task and f"task {request.task}"
        what = f"rendering {(name or ', '.join(request.resources))[:200]}"
        try:
            answer = await self._call(render.NAME, request.encode(), tenant, what)
            made = await _decoded(answer, objects=request.output == "objects")
        except FatalTaskError as error:
            if error.limit:
                self._known.put(request, error)
            raise
        return made

    async def _call(self, job: str, payload: bytes, tenant: str, what: str) -> bytes:
        try:
            return await self._jobs.call(job, payload, tenant=tenant)
        except LimitExceeded as error:
            at = f" at {error.at}" if error.at else ""
            text = f"{what}: {error}{at}; make the templates, or the parameters they use, smaller"
            raise FatalTaskError("TaskRenderingError", text, limit=error.limit) from error
        except WorkerError as error:
            # A bug of the reconciler, or the workers are busy: it must not end a plan.
            raise TransientTaskError("TaskRenderingError", f"{what}: {error}") from error


def _is_small(request: Request) -> bool:
    return request.number <= _INLINE_TEMPLATES and request.size <= _INLINE_SIZE


async def _inline(request: Request) -> list[object]:
    """Render on the event loop, which may run other tasks after each text."""
    engine = Engine.inline(request.variables)
    values = request.variables.read(engine.budget)
    made: list[object] = []
    for rendered in render.made_of(request, engine, values):
        if rendered is not None:
            made += rendered if isinstance(rendered, tuple) else [rendered]
        await asyncio.sleep(0)
    return made


async def _decoded(answer: bytes, *, objects: bool) -> list[object]:
    """Decode an answer, letting the event loop run other tasks after every 64 KiB."""
    made: list[object] = []
    decoded = 0
    for size, item in render.decode_answer(answer):
        made.append(render.manifest(item) if objects else item)
        decoded += size
        if decoded > _TURN:
            decoded = 0
            await asyncio.sleep(0)
    return made


def _hash(request: Request) -> int:
    """Return a hash of the fields in which different requests usually differ."""
    variables, templates = request.variables, request.templates
    names = (value for value in variables.fixed.values() if isinstance(value, str))
    texts = (templates.get(name) for name in request.resources)
    fields = (text for _, text in texts_of(request.job))
    given = variables.parameters, variables.run_parameters
    return hash((request.output, request.resources, *names, *texts, *fields, *given))


def _digest(request: Request) -> bytes:
    """Return a digest of everything that a rendering depends on."""
    hasher = hashlib.blake2b(digest_size=16, key=_KEY)
    for text in _texts(request):
        raw = text.encode("utf-8", "surrogatepass")
        hasher.update(len(raw).to_bytes(8, "big"))
        hasher.update(raw)
    return hasher.digest()


def _texts(request: Request) -> list[str]:
    variables = request.variables
    texts = [request.output, repr(variables.fixed), str(variables.outputs_known)]
    texts += [str(variables.run_parameters_known), str(variables.run_parameters is None)]
    # Where the one list ends and the other begins.
    texts.append(str(len(variables.parameters)))
    texts += [request.task, repr(request.job)]
    for resource in request.resources:
        texts += [resource, request.templates.get(resource, "")]
    for parameter in (*variables.parameters, *(variables.run_parameters or ())):
        texts += [parameter.name, parameter.value_type or ""]
        # One without a value is not the same as one with an empty value.
        texts.append("-" if parameter.text is None else f"+{parameter.text}")
    return texts
