"""Builders that the tests of the inventory share; no tests of its own."""

from typing import Any

from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry, Place, Record

ONE = InstanceIdentity("ns", "db", "0a1b2c3d-1111-2222-3333-444455556666")


def config_map(name: str, namespace: str = "ns") -> Place:
    return Place("", "ConfigMap", namespace, name)


def entry(place: Place | str, plan: str = "deploy", task: str = "app", **fields: Any) -> Entry:
    """Return an entry; the name of a ConfigMap stands for its place."""
    where = config_map(place) if isinstance(place, str) else place
    return Entry(where, "v1", f"{where.kind.lower()}s", plan, task, **fields)


def record(*entries: Entry, complete: bool = False) -> Record:
    return Record(complete=complete).merged(entries)
