"""What a KUDO microservice needs to run: logs, probes, metrics, a listener, a graceful stop.

Nothing here knows of Kubernetes objects; both services build on the same few parts:

* `serving.settings` declares options once, as flag and environment variable;
* `serving.logs` writes one JSON object a line;
* `serving.signals` turns SIGTERM into an event;
* `serving.server` runs an ASGI app inside a TaskGroup;
* `serving.limits` says what a client of a port may take;
* `serving.probes` answers /healthz, /readyz and /metrics.
"""
