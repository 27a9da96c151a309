"""The web application: its routes, and how one admission request is answered.

Every request is answered within the deadline, which is shorter than `timeoutSeconds` of the webhook
configurations: users then read our reason and not that the API server timed out. Nothing here has
side effects, so a dry run is answered like any other request. A request that exceeds a limit is
denied with the part that was too large; it counts as `limited`, and not as `error`, which is for
faults of the webhook.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from kudo.admission.envelope import MalformedReview
from kudo.admission.tenancy import Tenancy
from kudo_webhook.answers import EXCEPTION_HANDLERS, NoDecision, late, respond
from kudo_webhook.metrics import MUTATE, OPERATOR_VERSION, VALIDATE, Metrics
from kudo_webhook.middleware import BodyLimit, Deadline, Exchange, Exchanges, whole_body
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
