"""EndpointSlices: where an endpoint is became fields instead of a map."""

from kudo.api import JsonObject
from kudo.removed_apis.shapes import mapping_at, mappings_at, set_default


def upgrade_endpoint_slice(endpoint_slice: JsonObject) -> None:
    for endpoint in mappings_at(endpoint_slice, "endpoints"):
        topology = mapping_at(endpoint, "topology")
        if topology is not None:
            _upgrade_topology(endpoint, topology)


def _upgrade_topology(endpoint: JsonObject, topology: JsonObject) -> None:
    """Keep node and zone; the API server takes nothing else of it in v1."""
    del endpoint["topology"]
    for label, field in (
        ("kubernetes.io/hostname", "nodeName"),
        ("topology.kubernetes.io/zone", "zone"),
    ):
        if topology.get(label) is not None:
            set_default(endpoint, field, topology[label])
