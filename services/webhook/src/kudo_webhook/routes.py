"""The web application: its routes, the bounds around them, and what errors become.

Every request gets an answer within the deadline, which lies below the `timeoutSeconds` of the
webhook configurations, so that users read our reason and not the API server's timeout.
"""

from functools import partial

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from kudo_webhook.admission import Admission
from kudo_webhook.answers import EXCEPTION_HANDLERS, late
from kudo_webhook.body import BodyLimit
from kudo_webhook.deadline import Deadline
from kudo_webhook.exchange import Exchanges
from kudo_webhook.metrics import MUTATE, VALIDATE

MUTATE_PATH = "/mutate-kudo-dev-v1beta1-instance"
VALIDATE_PATH = "/validate-kudo-dev-v1beta1-instance"
ORIGINAL_PATH = "/admit-kudo-dev-v1beta1-instance"
"""The one path of KUDO 0.19, where a mutating configuration had requests judged and patched at
once. It is the mutating route, which does both: a configuration that still names it gets every
rule on what users submit and the plan that a change needs. What the validating route adds, the
look at the state after all other webhooks, needs a configuration of its own; a validating one that
names this path is judged by the same rules, and the API server leaves the patch out."""


def build_app(admission: Admission) -> FastAPI:
    """Return the web application: the admission routes, and nothing else."""
    router = APIRouter(redirect_slashes=False)

    # `route` and not `post`: that one looks in each request for parameters of the endpoint, which
    # has none, and parses its cookies for them. Python 3.11 takes a second for 32 KB of them, in
    # which nobody else is answered.

    @router.route(MUTATE_PATH, methods=["POST"])
    @router.route(ORIGINAL_PATH, methods=["POST"])
    async def mutate(request: Request) -> Response:
        """Judge what was submitted, and schedule the plan that it needs."""
        return await admission.answer(MUTATE, request)

    @router.route(VALIDATE_PATH, methods=["POST"])
    async def validate(request: Request) -> Response:
        """Judge the state that would be stored."""
        return await admission.answer(VALIDATE, request)

    return FastAPI(
        routes=router.routes,
        # The first is the outermost: what the deadline answers is counted as well.
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
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
