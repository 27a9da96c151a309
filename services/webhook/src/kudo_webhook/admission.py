"""Admission of one request: read its body, find the OperatorVersions, decide, answer.

Nothing here has side effects, so a dry run is answered like any other request. A request that
exceeds a limit is denied with the part that was too large; it counts as `limited`, and not as
`error`, which is for faults of the webhook.
"""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from kudo.admission.envelope import MalformedReview
from kudo.admission.tenancy import Tenancy
from kudo_webhook.answers import NoDecision, respond
from kudo_webhook.body import whole_body
from kudo_webhook.exchange import Exchange
from kudo_webhook.metrics import OPERATOR_VERSION, Metrics
from kudo_webhook.reviewing import Reviewer
from kudo_webhook.versions import VersionSource, VersionUnreadable
from workers import Pool

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
            kudo_webhook.body.BodyTooLarge: more was sent than `BodyLimit` allows.
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
