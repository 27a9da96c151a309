"""The two admission routes: read, find the OperatorVersions, decide, answer.

Every request gets an answer within the deadline, which lies below the `timeoutSeconds` of the
webhook configurations, so that users read our reason and not the API server's timeout. A body
that is no AdmissionReview is answered with HTTP 400 (413 if too large) and a Status; whatever can
be answered with an AdmissionReview comes with HTTP 200. Nothing here has side effects, so a dry
run is answered as any other request. What exceeds a limit is denied with what was too large, and
counts as `limited`, apart from faults of ours (`error`). Parameter values never reach the log:
messages may quote them, so only reasons and fields are logged.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from kudo.admission.answers import Answer, failed
from kudo.admission.envelope import AdmissionReview, MalformedReview, allow, deny, failure
from kudo_webhook.body import LIMIT, BodyLost, BodyTooLarge, read_body
from kudo_webhook.metrics import Metrics, Outcome
from kudo_webhook.reviewing import Reviewer, Seen, busy
from kudo_webhook.versions import VersionSource, VersionUnreadable
from serving.logs import log_context
from serving.probes import Receive, Scope, Send
from workers import Pool

log = logging.getLogger(__name__)

MUTATE, VALIDATE = "mutate", "validate"

_JOB_SHARE = 0.4
"""Part of the deadline that one job of a worker may take. A review takes up to two jobs, and a job
that needs too much must end, and be told as such, before the deadline does."""

_HttpAnswer = tuple[int, bytes]
"""HTTP status and JSON."""


class _Unusable(Exception):
    """A request that cannot be answered with an AdmissionReview."""

    def __init__(self, code: int, reason: str, message: str, *, limit: str = "") -> None:
        self.code, self.reason, self.message, self.limit = code, reason, message, limit
        super().__init__(message)


class Endpoint:
    """One route as a bare ASGI app.

    Objects around request and response, as frameworks have them, cost as much as a decision.

    Attributes:
        draining: Whether each connection is closed with its next answer. A client then never sends
            on a kept connection that is about to close, where a request would be lost.
    """

    def __init__(self, handle: Callable[[Scope, Receive], Awaitable[_HttpAnswer]]) -> None:
        self._handle = handle
        self.draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, body = await self._handle(scope, receive)
        length = b"%d" % len(body)
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        if self.draining:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class Admission:
    """Answers AdmissionReviews.

    Attributes:
        mutate: Judges what was submitted and schedules the plan that it needs.
        validate: Judges the state that would be stored.

    Args:
        source: Where OperatorVersions are found.
        pool: The worker processes for what the event loop must not do.
        metrics: Where requests are counted.
        deadline: Seconds from the first byte of a request to its answer.
        fresh_uid: Makes the uid of a new run.
    """

    def __init__(
        self,
        source: VersionSource,
        pool: Pool,
        metrics: Metrics,
        *,
        deadline: float,
        fresh_uid: Callable[[], str],
    ) -> None:
        self._reviewer = Reviewer(source, pool, deadline * _JOB_SHARE, fresh_uid)
        self._metrics = metrics
        self._deadline = deadline
        self.mutate = Endpoint(partial(self._handle, MUTATE))
        self.validate = Endpoint(partial(self._handle, VALIDATE))

    def drain(self) -> None:
        """From now on, close each connection with its next answer."""
        self.mutate.draining = self.validate.draining = True

    async def _handle(self, route: str, scope: Scope, receive: Receive) -> _HttpAnswer:
        seen = Seen()
        with self._metrics.request(route) as outcome:
            try:
                answer = await self._answer(route, scope, receive, seen)
            except _Unusable as error:
                return _refuse(error, outcome)
            review = seen.review
            if review is None:
                # A large body that nobody could read to the end, and not as API servers begin it.
                return _refuse(_unusable(answer), outcome)
            outcome.operation = review.operation
            outcome.outcome, outcome.reason = answer.outcome, answer.reason
            return _respond(route, review, answer)

    async def _answer(self, route: str, scope: Scope, receive: Receive, seen: Seen) -> Answer:
        """Return the answer to what `seen` holds then.

        Raises:
            _Unusable: the request cannot be answered with an AdmissionReview.
        """
        try:
            async with asyncio.timeout(self._deadline):
                body = await _body(scope, receive)
                seen.arrived = True
                return await self._reviewed(route, body, seen)
        except TimeoutError:
            if not seen.arrived:
                text = "the body did not arrive in time"
                raise _Unusable(408, "RequestTimeout", text) from None
            if seen.in_worker:
                # No job takes that long, so it has waited for others to end.
                return busy()
            text = f"no decision within {self._deadline:g} s; try again"
            return failed(504, "DeadlineExceeded", text)

    async def _reviewed(self, route: str, body: bytes, seen: Seen) -> Answer:
        try:
            return await self._reviewer.review(route, body, seen)
        except MalformedReview as error:
            raise _Unusable(400, "BadRequest", str(error)) from error
        except VersionUnreadable as error:
            return failed(500, "OperatorVersionUnreadable", f"{error}; try again")
        except Exception:
            with _context(seen.review):
                log.exception("no decision, because of an error in the webhook")
            return failed(500, "InternalError", "the webhook failed to decide; its log says why")


def _unusable(answer: Answer) -> _Unusable:
    problem = answer.problems[0]
    return _Unusable(answer.code, problem.reason, problem.message, limit=problem.limit)


async def _body(scope: Scope, receive: Receive) -> bytes:
    try:
        return await read_body(scope, receive)
    except BodyTooLarge as error:
        text = f"the body is larger than {LIMIT} bytes"
        raise _Unusable(413, "RequestEntityTooLarge", text, limit="body") from error
    except BodyLost as error:
        raise _Unusable(400, "ClientDisconnected", "the connection broke") from error


def _context(review: AdmissionReview | None) -> AbstractContextManager[None]:
    if review is None:
        return nullcontext()
    return log_context(namespace=review.namespace, name=review.name)


def _refuse(error: _Unusable, outcome: Outcome) -> _HttpAnswer:
    outcome.reason = error.reason
    if error.limit:
        outcome.outcome = "limited"
    extra = {"reason": error.reason, "limit": error.limit, "error": error.message}
    # The port ends connections that are too slow or too many, each of which comes here; its own
    # counter tells of them, and a line for each would let them fill the log.
    level = logging.DEBUG if error.reason == "ClientDisconnected" else logging.WARNING
    log.log(level, "unusable request", extra=extra)
    return error.code, failure(error.code, error.reason, error.message)


def _respond(route: str, review: AdmissionReview, answer: Answer) -> _HttpAnswer:
    if answer.allowed:
        patch = answer.patch if route == MUTATE else b""
        return 200, allow(review, warnings=answer.warnings, patch=patch)
    with _context(review):
        log.info(
            "denied",
            extra={
                "route": route,
                "operation": review.operation,
                "outcome": answer.outcome,
                "reason": answer.reason,
                "limit": answer.limit,
                "fields": [problem.field for problem in answer.problems],
                "dry_run": review.dry_run,
            },
        )
    return 200, deny(review, answer.problems, answer.code)
