"""The web application: its routes, and the middleware and exception handlers around them.

Every request is answered within the deadline, which is shorter than `timeoutSeconds` of the webhook
configurations: users then read our reason and not that the API server timed out.
"""

from functools import partial
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from kudo_webhook.admission import Admission
from kudo_webhook.answers import EXCEPTION_HANDLERS, late
from kudo_webhook.body import BodyLimit
from kudo_webhook.deadline import Deadline
from kudo_webhook.exchange import Exchanges
from kudo_webhook.metrics import MUTATE, OPERATOR_VERSION, VALIDATE

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
