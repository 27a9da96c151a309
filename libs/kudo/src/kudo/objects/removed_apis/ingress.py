"""Ingresses: the backends have another structure, and a path type is required.

The annotation `kubernetes.io/ingress.class` stays: controllers still honour it, and
`spec.ingressClassName` would ask for an IngressClass that the old version did not need.
"""

from collections.abc import Iterator

from kudo.api import JsonObject
from kudo.objects.removed_apis.shapes import mapping_at, mappings_at, rename, set_default


def upgrade_ingress(ingress: JsonObject) -> None:
    spec = mapping_at(ingress, "spec")
    if spec is None:
        return
    rename(spec, "backend", "defaultBackend")
    _upgrade_backend(spec, "defaultBackend")
    for path in _paths(spec):
        set_default(path, "pathType", "ImplementationSpecific")
        _upgrade_backend(path, "backend")


def _paths(spec: JsonObject) -> Iterator[JsonObject]:
    for rule in mappings_at(spec, "rules"):
        http = mapping_at(rule, "http")
        if http is not None:
            yield from mappings_at(http, "paths")


def _upgrade_backend(parent: JsonObject, key: str) -> None:
    backend = mapping_at(parent, key)
    if backend is None or not {"serviceName", "servicePort"} & backend.keys():
        return
    service: JsonObject = {}
    name, port = backend.pop("serviceName", None), backend.pop("servicePort", None)
    if name is not None:
        service["name"] = name
    if port is not None:
        service["port"] = {"name" if isinstance(port, str) else "number": port}
    if service:
        set_default(backend, "service", service)
