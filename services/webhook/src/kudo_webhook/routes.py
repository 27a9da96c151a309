"""The web application: its routes, and how one admission request is answered.

Every request is answered within the deadline, which is shorter than `timeoutSeconds` of the webhook
configurations: users then read our reason and not that the API server timed out. Nothing here has
side effects, so a dry run is answered like any other request. A request that exceeds a limit is
denied with the part that was too large; it counts as `limited`, and not as `error`, which is for
faults of the webhook.

A request that is no AdmissionReview is answered with an HTTP error and a Status; every other one
with HTTP 200 and an AdmissionReview. Values of parameters are never logged: messages may quote
them, so only reasons and fields are.
"""

import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from kudo.admission.envelope import (
    AdmissionReview,
    Answer,
    MalformedReview,
    allow,
    deny,
    failed,
    failure,
)
from kudo.admission.tenancy import Tenancy
from kudo_webhook.metrics import MUTATE, OPERATOR_VERSION, VALIDATE, Metrics
from kudo_webhook.middleware import (
    LIMIT,
    BodyLimit,
    BodyTooLarge,
    Deadline,
    Exchange,
    Exchanges,
    whole_body,
)
from kudo_webhook.reviewing import Reviewer, busy
from kudo_webhook.versions import VersionSource, VersionUnreadable
from serving.logs import log_context
from workers import Pool

log = logging.getLogger(__name__)

Handler = Callable[[Request, Any], Coroutine[Any, Any, Response]]


class NoDecision(Exception):
    """An error in the webhook prevented a decision; it is the cause of this one."""


def respond(exchange: Exchange, answer: Answer) -> Response:
    """Return an answer as an AdmissionReview; as a Status if nobody could read the request."""
    review = exchange.seen.review
    if review is None:
        # A large body that exceeded a limit while it was read, and has no uid where API servers
        # write it: an AdmissionReview needs one.
        problem = answer.problems[0]
        return _refuse(exchange, answer.code, problem.reason, problem.message, limit=problem.limit)
    outcome = exchange.outcome
    outcome.operation = review.operation
    outcome.outcome, outcome.reason = answer.outcome, answer.reason
    if answer.allowed:
        patch = answer.patch if outcome.route == MUTATE else b""
        return _json(exchange, 200, allow(review, warnings=answer.warnings, patch=patch))
    with _context(review):
        # Fields and reasons only: a message may quote the value of a parameter.
        log.info(
            "denied",
            extra={
                "route": outcome.route,
                "operation": review.operation,
                "outcome": answer.outcome,
                "reason": answer.reason,
                "limit": answer.limit,
                "fields": [problem.field for problem in answer.problems],
                "dry_run": review.dry_run,
            },
        )
    return _json(exchange, 200, deny(review, answer.problems, answer.code))


def late(request: Request, seconds: float) -> Response:
    """Return the answer to a request that took longer than its deadline."""
    exchange = Exchange.of(request)
    if not exchange.seen.arrived:
        text = "the body did not arrive in time"
        return _refuse(exchange, 408, "RequestTimeout", text)
    if exchange.seen.in_worker:
        # A job ends before the deadline, so this one has waited for a free worker.
        return respond(exchange, busy())
    text = f"no decision within {seconds:g} s; try again"
    return respond(exchange, failed(504, "DeadlineExceeded", text))


# Exception handlers are coroutines: Starlette runs plain functions in threads.


async def _body_too_large(request: Request, _error: Exception) -> Response:
    text = f"the body is larger than {LIMIT} bytes"
    return _refuse(Exchange.of(request), 413, "RequestEntityTooLarge", text, limit="body")


async def _client_disconnected(request: Request, _error: Exception) -> Response:
    return _refuse(Exchange.of(request), 400, "ClientDisconnected", "the connection broke")


async def _malformed_review(request: Request, error: Exception) -> Response:
    return _refuse(Exchange.of(request), 400, "BadRequest", str(error))


async def _version_unreadable(request: Request, error: Exception) -> Response:
    answer = failed(500, "OperatorVersionUnreadable", f"{error}; try again")
    return respond(Exchange.of(request), answer)


async def _no_decision(request: Request, error: Exception) -> Response:
    exchange = Exchange.of(request)
    with _context(exchange.seen.review):
        log.error("no decision, because of an error in the webhook", exc_info=error.__cause__)
    text = "the webhook failed to decide; its log says why"
    return respond(exchange, failed(500, "InternalError", text))


EXCEPTION_HANDLERS: dict[int | type[Exception], Handler] = {
    BodyTooLarge: _body_too_large,
    ClientDisconnect: _client_disconnected,
    MalformedReview: _malformed_review,
    VersionUnreadable: _version_unreadable,
    NoDecision: _no_decision,
}


def _refuse(
    exchange: Exchange, code: int, reason: str, message: str, *, limit: str = ""
) -> Response:
    """Return a Status: the request cannot be answered with an AdmissionReview."""
    exchange.outcome.reason = reason
    if limit:
        exchange.outcome.outcome = "limited"
    extra = {"reason": reason, "limit": limit, "error": message}
    # Each connection that the port closes for its limits comes here. They are counted by reason
    # (`kudo_admission_connections_closed_total`); a line for each would let a client fill the log.
    level = logging.DEBUG if reason == "ClientDisconnected" else logging.WARNING
    log.log(level, "unusable request", extra=extra)
    return _json(exchange, code, failure(code, reason, message))


def _json(exchange: Exchange, code: int, body: bytes) -> Response:
    # Counted before it is sent, so that a client that reads slowly is not counted as slow decision.
    exchange.outcome.end()
    return _JsonResponse(code, body, close=exchange.service.draining)


class _JsonResponse(Response):
    """A JSON response with its headers as bytes.

    `Response.__init__` encodes headers from text and adds the missing ones, which takes several
    times as long.

    Args:
        status_code: HTTP status.
        body: JSON.
        close: Whether the connection is closed after it. Then no client sends on a kept connection
            that is about to close, where a request would be lost.
    """

    def __init__(self, status_code: int, body: bytes, *, close: bool) -> None:
        self.status_code, self.body, self.background = status_code, body, None
        self.raw_headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ]
        if close:
            self.raw_headers.append((b"connection", b"close"))


def _context(review: AdmissionReview | None) -> AbstractContextManager[None]:
    if review is None:
        return nullcontext()
    return log_context(namespace=review.namespace, name=review.name)


_JOB_SHARE = 0.4
"""Part of the deadline that one job of a worker may take. A review takes up to two jobs, and a job
that takes too long has to end before the deadline, so that the answer can say so."""


class Admission:
    """Answers AdmissionReviews.

    Attributes:
        metrics: Where requests are counted.
        deadline: Seconds from the first byte of a request to its answer.
        draining: Whether each connection is closed with its next answer.

    Args:
        source: Where OperatorVersions are found.
        pool: The worker processes for what the event loop must not do.
        metrics: Where requests are counted.
        deadline: Seconds from the first byte of a request to its answer.
        fresh_uid: Makes the uid of a new run.
        tenancy: The mode of the installation.
    """

    def __init__(
        self,
        source: VersionSource,
        pool: Pool,
        metrics: Metrics,
        *,
        deadline: float,
        fresh_uid: Callable[[], str],
        tenancy: Tenancy = Tenancy.COMPAT,
    ) -> None:
        self._reviewer = Reviewer(source, pool, deadline * _JOB_SHARE, fresh_uid, tenancy)
        self.metrics = metrics
        self.deadline = deadline
        self.draining = False

    async def answer(self, route: str, request: Request) -> Response:
        """Return the answer to a request to one of the routes.

        Raises:
            kudo_webhook.middleware.BodyTooLarge: more was sent than `BodyLimit` allows.
            starlette.requests.ClientDisconnect: the connection broke before all was there.
            MalformedReview: the body is no AdmissionReview.
            VersionUnreadable: an OperatorVersion cannot be read now.
            NoDecision: an error in the webhook.
        """
        exchange = Exchange.of(request)
        exchange.outcome.route = route
        body = await whole_body(request)
        exchange.seen.arrived = True
        try:
            if route == OPERATOR_VERSION:
                answer = await self._reviewer.review_version(body, exchange.seen)
            else:
                answer = await self._reviewer.review(route, body, exchange.seen)
        except (MalformedReview, VersionUnreadable):
            raise
        except Exception as error:
            # A handler of every Exception would let the server log it again and close the
            # connection, and the API server would be told nothing of the review.
            raise NoDecision from error
        return respond(exchange, answer)


MUTATE_PATH = "/mutate-kudo-dev-v1beta1-instance"
VALIDATE_PATH = "/validate-kudo-dev-v1beta1-instance"
OPERATOR_VERSION_PATH = "/validate-kudo-dev-v1beta1-operatorversion"
ORIGINAL_PATH = "/admit-kudo-dev-v1beta1-instance"
"""The only path of KUDO 0.19, which validated and patched a request at once. It is an alias of the
mutating route, which does both: a configuration that still names it gets every rule on what users
submit and the plan that a change needs. The validating route also sees what other webhooks made of
the object, and needs a configuration of its own. For a validating configuration that names this
path the same rules decide, and the API server ignores the patch."""

TELEMETRY: Final[TelemetryConfig] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""Nothing of FastAPI's own; our metrics are in `kudo_webhook.metrics`."""


def build_app(admission: Admission) -> FastAPI:
    """Return the web application: the admission routes, and nothing else."""
    router = APIRouter(redirect_slashes=False)

    # `route` and not `post`: `post` parses the cookies of each request for parameters of the
    # endpoint, which has none. Python 3.11 takes a second for 32 KB of cookies, in which no other
    # request is answered.

    @router.route(MUTATE_PATH, methods=["POST"])
    @router.route(ORIGINAL_PATH, methods=["POST"])
    async def mutate(request: Request) -> Response:
        """Validate what was submitted, and schedule the plan that it needs."""
        return await admission.answer(MUTATE, request)

    @router.route(VALIDATE_PATH, methods=["POST"])
    async def validate(request: Request) -> Response:
        """Validate the state that would be stored."""
        return await admission.answer(VALIDATE, request)

    @router.route(OPERATOR_VERSION_PATH, methods=["POST"])
    async def validate_operator_version(request: Request) -> Response:
        """Validate an OperatorVersion that would be stored."""
        return await admission.answer(OPERATOR_VERSION, request)

    return FastAPI(
        routes=router.routes,
        # The first is the outermost, so answers of the deadline are counted as well.
        middleware=[
            Middleware(Exchanges, metrics=admission.metrics, service=admission),
            Middleware(
                Deadline,
                seconds=admission.deadline,
                late=partial(late, seconds=admission.deadline),
            ),
            Middleware(BodyLimit),
        ],
        exception_handlers=EXCEPTION_HANDLERS,
        openapi_url=None,
        redirect_slashes=False,
        telemetry=TELEMETRY,
    )
