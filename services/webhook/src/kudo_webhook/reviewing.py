"""Decides AdmissionReviews: small ones on the event loop, all others in a worker process.

Small is a body up to `INLINE_BODY` bytes with up to `INLINE_ENTRIES` entries: parsing it and
applying every rule takes a few milliseconds, since OperatorVersions are within `kudo.api.bounds`
and their templates are left out; a retry needs these, too, and goes to a worker.
Arrays and maps are parsed within one budget; when that is spent, a worker parses the rest and the
decision is made again (`kudo.parameters.values`). Any other review is parsed and decided by a
worker (`kudo.jobs.review`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from kudo.admission import Decision, Review, Versions
from kudo.admission.envelope import (
    ALLOWED,
    OPERATOR_VERSION,
    AdmissionReview,
    Answer,
    MalformedReview,
    decided,
    failed,
    read_head,
    read_review,
    unreadable,
)
from kudo.admission.tenancy import Tenancy
from kudo.api import Json
from kudo.api.problems import InvalidInput
from kudo.jobs import check as check_job
from kudo.jobs import review as review_job
from kudo.parameters.values import Check, Checker, CheckResults
from kudo_webhook.versions import VersionSource, VersionTooLarge
from workers import LimitExceeded, Pool, PoolBusy

INLINE_BODY = 128 * 1024
"""Bytes of JSON; any JSON of that size is parsed within a few milliseconds."""
INLINE_ENTRIES = 2_000
"""Parameters and plans of both objects; several rules look at each of them."""
_ENTRY_BYTES = 5
"""Of the shortest entry of a map, `"":0,`: a short body cannot have too many."""


@dataclass(slots=True)
class Seen:
    """What has been read of a request so far.

    Attributes:
        review: The AdmissionReview; None until it has been read.
        arrived: Whether the whole body has arrived.
        in_worker: Whether the request waits for a free worker or for the answer of one.
    """

    review: AdmissionReview | None = None
    arrived: bool = False
    in_worker: bool = False


@dataclass(slots=True)
class Reviewer:
    """Decides the reviews of both routes.

    Attributes:
        source: Where OperatorVersions are found.
        pool: The worker processes, which have the handlers of `kudo.jobs.review`.
        seconds: CPU time and wall clock of one job.
        fresh_uid: Makes the uid of a new run.
        tenancy: The mode of the installation.
        results: Values of parameters that have been parsed before.
    """

    source: VersionSource
    pool: Pool
    seconds: float
    fresh_uid: Callable[[], str]
    tenancy: Tenancy = Tenancy.COMPAT
    results: CheckResults = field(default_factory=CheckResults)

    async def review(self, route: str, body: bytes, seen: Seen) -> Answer:
        """Return the answer to a body; sets `seen.review` as soon as it has been read.

        Raises:
            MalformedReview: the body is no AdmissionReview.
            VersionUnreadable: an OperatorVersion cannot be read now.
            workers.JobFailed: an error in a worker.
        """
        try:
            # Only its head is parsed here, which logs and metrics need whatever the worker answers.
            if len(body) > INLINE_BODY:
                seen.review = read_head(body)
                return await self._in_worker(route, body, seen)
            seen.review = review = read_review(body)
            if not review.needs_review:
                return ALLOWED
            if len(body) > _ENTRY_BYTES * INLINE_ENTRIES and _entries(review) > INLINE_ENTRIES:
                return await self._in_worker(route, body, seen)
            subject = Review.of(review.request)
            if subject.needs_whole_versions:
                return await self._in_worker(route, body, seen)
            tenant = self._grantee(review.namespace)
            versions = {key: await self.source.get(*key, tenant) for key in subject.references()}
            return await self._inline(route, subject, versions, seen)
        except InvalidInput as error:
            return unreadable(error)
        except VersionTooLarge as error:
            return failed(413, "OperatorVersionTooLarge", str(error), limit=error.limit)
        except PoolBusy:
            return busy()

    async def _inline(self, route: str, subject: Review, versions: Versions, seen: Seen) -> Answer:
        def decide(check: Check) -> Decision:
            return review_job.decide(
                route,
                subject,
                versions,
                fresh_uid=self.fresh_uid,
                check=check,
                tenancy=self.tenancy,
            )

        # Of this decision alone; `results` outlives it.
        checker = Checker(self.results)
        decision = decide(checker)
        if checker.pending:
            await self._read_pending(checker, seen, subject.request.namespace)
            decision = decide(checker)
        return decided(decision)

    async def _read_pending(self, checker: Checker, seen: Seen, tenant: str) -> None:
        """Have a worker parse the values that the budget did not cover."""
        # Exactly these were too large before: no worker is asked again.
        if checker.known_batch():
            return
        request = check_job.encode_request(checker.pending)
        try:
            answer = await self._call(seen, check_job.NAME, request, tenant)
        except LimitExceeded as error:
            checker.give_up(error.limit, str(error), check_job.value_at(error.at))
        else:
            checker.learn(check_job.decode_answer(answer))

    async def _in_worker(self, route: str, body: bytes, seen: Seen) -> Answer:
        tenant = seen.review.namespace if seen.review is not None else ""
        asked = review_job.Route(route, self.fresh_uid(), self.tenancy)
        try:
            request = review_job.encode_request(asked, body, {})
            answer = review_job.decode_answer(
                await self._call(seen, review_job.NAME, request, tenant)
            )
            # A worker has no connection: it names the OperatorVersions, and gets them.
            if isinstance(answer, review_job.Needed):
                grantee, whole = self._grantee(answer.namespace), answer.whole
                blobs = {
                    key: await self.source.wire(*key, grantee, whole=whole) for key in answer.keys
                }
                request = review_job.encode_request(asked, body, blobs)
                answer = review_job.decode_answer(
                    await self._call(seen, review_job.NAME, request, tenant)
                )
        except LimitExceeded as error:
            return _too_large(error)
        return _answered(answer, seen)

    async def review_version(self, body: bytes, seen: Seen) -> Answer:
        """Return the answer to a review of an OperatorVersion; like `review`.

        Raises:
            MalformedReview: the body is no AdmissionReview.
            workers.JobFailed: an error in a worker.
        """
        small = len(body) <= INLINE_BODY
        review = read_review(body, kind=OPERATOR_VERSION) if small else None
        seen.review = review or read_head(body, OPERATOR_VERSION)
        if review is not None and (self.tenancy is Tenancy.COMPAT or not review.needs_review):
            return ALLOWED
        tenant = seen.review.namespace if seen.review is not None else ""
        try:
            answer = await self._call(seen, review_job.VERSION, body, tenant, jobs=2)
        except LimitExceeded as error:
            return _too_large(error, "the OperatorVersion")
        except PoolBusy:
            return busy()
        return _answered(review_job.decode_answer(answer), seen)

    def _grantee(self, namespace: str) -> str | None:
        """Return the namespace that OperatorVersions must be granted to; None in compat mode."""
        return namespace if self.tenancy is Tenancy.STRICT else None

    async def _call(
        self, seen: Seen, handler: str, request: bytes, tenant: str, *, jobs: int = 1
    ) -> bytes:
        """Have a worker do a job, which may take the time of several."""
        # A deadline that passes meanwhile means that too many large requests wait.
        seen.in_worker = True
        seconds = self.seconds * jobs
        answer = await self.pool.call(handler, request, tenant=tenant, cpu=seconds, wall=seconds)
        # Not in a `finally`: a deadline that passes has to find it set.
        seen.in_worker = False
        return answer


def busy() -> Answer:
    """Return the answer to a request for which no worker is free."""
    text = "too many large requests wait to be judged; try again"
    return failed(429, "TooManyRequests", text, limit="queue")


def _answered(
    answer: review_job.Malformed | review_job.Needed | review_job.Reviewed, seen: Seen
) -> Answer:
    """Return the answer of a worker; sets `seen.review`.

    Raises:
        MalformedReview: the body is no AdmissionReview.
    """
    if isinstance(answer, review_job.Malformed):
        raise MalformedReview(answer.text)
    assert isinstance(answer, review_job.Reviewed)
    seen.review = answer.review
    return answer.answer


def _too_large(error: LimitExceeded, whole: str = "the Instance") -> Answer:
    at, what = (f" at {error.at}", "it") if error.at else ("", whole)
    text = f"the request is too large to be judged: {error}{at}; make {what} smaller"
    return failed(413, "RequestTooLarge", text, limit=error.limit)


def _entries(review: AdmissionReview) -> int:
    """Return how many parameters and plans the objects of a review have."""
    count = 0
    for obj in (review.object, review.old_object):
        if obj is not None:
            spec, status = _part(obj, "spec"), _part(obj, "status")
            last = _part(status, "lastRun")
            run = _part(_part(spec, "planExecution"), "parameters")
            maps = (_part(spec, "parameters"), run, _part(status, "planStatus"))
            count += sum(map(len, (*maps, _part(last, "parameters"))))
            sources = spec.get("parametersFrom")
            count += len(sources) if isinstance(sources, list) else 0
    return count


def _part(owner: dict[str, Json], name: str) -> dict[str, Json]:
    value = owner.get(name)
    return value if isinstance(value, dict) else {}
