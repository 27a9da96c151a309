"""The two admission routes: read, find the OperatorVersions, decide, answer.

Every request gets an answer within the deadline, which lies below the `timeoutSeconds` of the
webhook configurations, so that users read our reason and not the API server's timeout. A body
that is no AdmissionReview is answered with HTTP 400 (413 if too large) and a Status; whatever can
be answered with an AdmissionReview comes with HTTP 200. Nothing here has side effects, so a dry
run is answered as any other request. Parameter values never reach the log: messages may quote
them, so only reasons and fields are logged.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from kudo.admission import Decision, Review, mutate, validate
from kudo.admission import Request as AdmissionRequest
from kudo.api import OperatorVersion
from kudo.problems import InvalidInput, Problem
from kudo_webhook.body import LIMIT, BodyLost, BodyTooLarge, read_body
from kudo_webhook.envelope import (
    AdmissionReview,
    MalformedReview,
    allow,
    deny,
    failure,
    read_review,
)
from kudo_webhook.metrics import Metrics, Outcome
from kudo_webhook.versions import VersionSource, VersionUnreadable
from serving.logs import log_context
from serving.probes import Receive, Scope, Send

log = logging.getLogger(__name__)

MUTATE, VALIDATE = "mutate", "validate"
Versions = dict[tuple[str, str], OperatorVersion | None]
Decide = Callable[[Review, Versions], Decision]

_ALLOWED = Decision()

_Answer = tuple[int, bytes]
"""HTTP status and JSON."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A decision with the code that its denial carries."""

    decision: Decision
    code: int = 403

    @property
    def outcome(self) -> str:
        if self.decision.allowed:
            return "allowed"
        return "denied" if self.code < 500 else "error"


class _Unusable(Exception):
    """A request that cannot be answered with an AdmissionReview."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        self.code, self.reason, self.message = code, reason, message
        super().__init__(message)


_BODY_TOO_LATE = _Unusable(408, "RequestTimeout", "the body did not arrive in time")


class Endpoint:
    """One route as a bare ASGI app.

    Objects around request and response, as frameworks have them, cost as much as a decision.

    Attributes:
        draining: Whether each connection is closed with its next answer. A client then never sends
            on a kept connection that is about to close, where a request would be lost.
    """

    def __init__(self, handle: Callable[[Scope, Receive], Awaitable[_Answer]]) -> None:
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
        metrics: Where requests are counted.
        deadline: Seconds from the first byte of a request to its answer.
        fresh_uid: Makes the uid of a new run.
    """

    def __init__(
        self,
        source: VersionSource,
        metrics: Metrics,
        *,
        deadline: float,
        fresh_uid: Callable[[], str],
    ) -> None:
        self._source = source
        self._metrics = metrics
        self._deadline = deadline
        self._fresh_uid = fresh_uid
        self.mutate = Endpoint(partial(self._handle, MUTATE, self._decide_mutate))
        self.validate = Endpoint(partial(self._handle, VALIDATE, validate))

    def drain(self) -> None:
        """From now on, close each connection with its next answer."""
        self.mutate.draining = self.validate.draining = True

    def _decide_mutate(self, review: Review, versions: Versions) -> Decision:
        return mutate(review, versions, fresh_uid=self._fresh_uid)

    async def _handle(self, route: str, decide: Decide, scope: Scope, receive: Receive) -> _Answer:
        review = None
        with self._metrics.request(route) as outcome:
            try:
                async with asyncio.timeout(self._deadline):
                    review = await _read(scope, receive)
                    outcome.operation = review.operation
                    verdict = await self._judge(review, decide)
            except _Unusable as error:
                return _refuse(error, outcome)
            except TimeoutError:
                if review is None:
                    return _refuse(_BODY_TOO_LATE, outcome)
                text = f"no decision within {self._deadline:g} s; try again"
                verdict = _failed(504, "DeadlineExceeded", text)
            outcome.outcome, outcome.reason = verdict.outcome, verdict.decision.reason
            return _respond(route, review, verdict)

    async def _judge(self, review: AdmissionReview, decide: Decide) -> _Verdict:
        if not review.to_judge:
            return _Verdict(_ALLOWED)
        try:
            return _Verdict(await self._decide(review, decide))
        except InvalidInput as error:
            return _Verdict(Decision(problems=error.problems), 400)
        except VersionUnreadable as error:
            return _failed(500, "OperatorVersionUnreadable", f"{error}; try again")
        except Exception:
            with log_context(namespace=review.namespace, name=review.name):
                log.exception("no decision, because of an error in the webhook")
            text = "the webhook failed to decide; its log says why"
            return _failed(500, "InternalError", text)

    async def _decide(self, review: AdmissionReview, decide: Decide) -> Decision:
        subject = Review.of(
            AdmissionRequest(
                operation="CREATE" if review.operation == "CREATE" else "UPDATE",
                namespace=review.namespace,
                name=review.name,
                object=review.object,
                old_object=review.old_object,
                username=review.username,
            )
        )
        versions = {key: await self._source.get(*key) for key in subject.references()}
        return decide(subject, versions)


def _failed(code: int, reason: str, message: str) -> _Verdict:
    return _Verdict(Decision(problems=(Problem(reason, message),)), code)


async def _read(scope: Scope, receive: Receive) -> AdmissionReview:
    try:
        return read_review(await read_body(scope, receive))
    except MalformedReview as error:
        raise _Unusable(400, "BadRequest", str(error)) from error
    except BodyTooLarge as error:
        text = f"the body is larger than {LIMIT} bytes"
        raise _Unusable(413, "RequestEntityTooLarge", text) from error
    except BodyLost as error:
        raise _Unusable(400, "ClientDisconnected", "the connection broke") from error


def _refuse(error: _Unusable, outcome: Outcome) -> _Answer:
    outcome.reason = error.reason
    log.warning("unusable request", extra={"reason": error.reason, "error": error.message})
    return error.code, failure(error.code, error.reason, error.message)


def _respond(route: str, review: AdmissionReview, verdict: _Verdict) -> _Answer:
    decision = verdict.decision
    if decision.allowed:
        patch = decision.patch if route == MUTATE else ()
        return 200, allow(review, warnings=decision.warnings, patch=patch)
    with log_context(namespace=review.namespace, name=review.name):
        log.info(
            "denied",
            extra={
                "route": route,
                "operation": review.operation,
                "reason": decision.reason,
                "fields": [problem.field for problem in decision.problems],
                "dry_run": review.dry_run,
            },
        )
    return 200, deny(review, decision.problems, verdict.code)
