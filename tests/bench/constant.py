"""`python -m tests.bench.constant`: what the webhook is compared with.

A FastAPI app on uvicorn as it comes, with httptools and without an access log, that reads each POST
and answers a constant under the same TLS.
"""

import argparse
import asyncio
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from starlette.requests import Request
from starlette.responses import Response

from kudo_webhook.routes import MUTATE_PATH, VALIDATE_PATH
from serving.probes import Probes, asgi_app
from serving.server import serve

_HOST = "127.0.0.1"
_ANSWER = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{}}'


async def constant(request: Request) -> Response:
    await request.body()
    return Response(_ANSWER, media_type="application/json")


def build_app() -> FastAPI:
    app = FastAPI(
        openapi_url=None,
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    for path in (MUTATE_PATH, VALIDATE_PATH):
        app.add_api_route(path, constant, methods=["POST"], response_model=None)
    return app


async def run(port: int, probe_port: int, certificate: Path, key: Path) -> None:
    config = uvicorn.Config(
        build_app(),
        host=_HOST,
        port=port,
        http="httptools",
        loop="asyncio",
        access_log=False,
        log_level="warning",
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    probes = asgi_app(Probes(), CollectorRegistry())
    async with asyncio.TaskGroup() as group:
        probing = group.create_task(
            serve(probes, host=_HOST, port=probe_port, stop=asyncio.Event(), grace=1.0)
        )
        await uvicorn.Server(config).serve()
        probing.cancel()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--probe-port", type=int, required=True)
    parser.add_argument("--tls-cert", type=Path, required=True)
    parser.add_argument("--tls-key", type=Path, required=True)
    options = parser.parse_args()
    asyncio.run(run(options.port, options.probe_port, options.tls_cert, options.tls_key))


if __name__ == "__main__":
    main()
