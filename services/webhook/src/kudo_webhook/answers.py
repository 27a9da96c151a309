"""HTTP responses of decisions, and the exception handlers that make responses of errors.

A request that is no AdmissionReview is answered with an HTTP error and a Status; every other one
with HTTP 200 and an AdmissionReview. Values of parameters are never logged: messages may quote
them, so only reasons and fields are.
"""

import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from typing import Any

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
from kudo_webhook.metrics import MUTATE
from kudo_webhook.middleware import LIMIT, BodyTooLarge, Exchange
from kudo_webhook.reviewing import busy
from kudo_webhook.versions import VersionUnreadable
from serving.logs import log_context

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
