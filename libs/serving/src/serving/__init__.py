"""The parts of a KUDO service that have nothing to do with Kubernetes objects.

Both services are built on them:

* `serving.program` runs a service until a signal ends it, with short garbage collections;
* `serving.settings` declares each option as flag and environment variable;
* `serving.logs` writes one JSON object a line;
* `serving.server` runs an ASGI app on uvicorn, within the limits of `serving.connections`;
* `serving.probes` answers /healthz, /readyz and /metrics, the last one with a token if
  `serving.token_gate` asks for it; `serving.namespaces` answers /debug/namespaces;
* `serving.event_loop` measures the event loop;
* `serving.worker_pool` starts worker processes.
"""
