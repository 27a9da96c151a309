"""`python -m tests.bench.constant`: what the webhook is compared with.

A FastAPI application with one ordinary POST route for each path of the webhook. It answers a
constant, and reads the body as FastAPI gives it to a route: declared as a JSON object, or with
`--body=bytes` not parsed at all. It runs under uvicorn as it comes, one process, with the settings
of the webhook: httptools, the event loop of asyncio, no access log, no headers of uvicorn's own,
the same certificate.
"""

import argparse
import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry

from kudo_webhook.routes import MUTATE_PATH, TELEMETRY, VALIDATE_PATH
from serving.probes import Probes, asgi_app
from serving.server import serve

_HOST = "127.0.0.1"
_ANSWER = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{}}'


async def parsed(_review: dict[str, Any]) -> Response:
    return Response(_ANSWER, media_type="application/json")


async def unparsed(request: Request) -> Response:
    await request.body()
    return Response(_ANSWER, media_type="application/json")


ENDPOINTS: Final[Mapping[str, Callable[..., Coroutine[Any, Any, Response]]]] = {
    "json": parsed,
    "bytes": unparsed,
}


def build_app(body: str) -> FastAPI:
    app = FastAPI(openapi_url=None, telemetry=TELEMETRY)
    for path in (MUTATE_PATH, VALIDATE_PATH):
        app.add_api_route(path, ENDPOINTS[body], methods=["POST"], response_model=None)
    return app


async def run(body: str, port: int, probe_port: int, certificate: Path, key: Path) -> None:
    config = uvicorn.Config(
        build_app(body),
        host=_HOST,
        port=port,
        http="httptools",
        loop="asyncio",
        lifespan="off",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
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
    parser.add_argument("--body", choices=ENDPOINTS, default="json")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--probe-port", type=int, required=True)
    parser.add_argument("--tls-cert", type=Path, required=True)
    parser.add_argument("--tls-key", type=Path, required=True)
    options = parser.parse_args()
    asyncio.run(
        run(options.body, options.port, options.probe_port, options.tls_cert, options.tls_key)
    )


if __name__ == "__main__":
    main()
