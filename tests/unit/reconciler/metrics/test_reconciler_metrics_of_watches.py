"""Restarts of watches by reason, and since when they are silent."""

from dataclasses import dataclass

import pytest
from prometheus_client import CollectorRegistry

from kubeio.cache.reflector import Phase, Status
from kubeio.errors import ConnectionLost, Forbidden, Gone, KubeError, Malformed, ServerError
from kubeio.resource import CONFIG_MAPS, Resource
from kudo_reconciler.common.keys import INSTANCES
from kudo_reconciler.metrics.labels import WATCH_ENDINGS
from kudo_reconciler.metrics.watches import WatchCollector, WatchRestarts

LISTING, WATCHING = Status(Phase.LISTING), Status(Phase.OPENING)
TENANTS = [Resource(f"g{n}.dev", "v1", "Pod", "pods", namespaced=True) for n in (1, 2)]


def waiting(error: KubeError) -> Status:
    return Status(Phase.WAITING, error, 0.5)


SILENT = waiting(ConnectionLost("", timeout=True))
LOST = waiting(ConnectionLost(""))
UNREADABLE = waiting(Malformed(""))
GONE = waiting(Gone("", status=410))
REFUSED = waiting(Forbidden("", status=403))
FAILED = waiting(ServerError("", status=500))


@pytest.mark.parametrize(
    ("story", "restarts"),
    [
        ([LISTING, WATCHING], {}),
        ([LISTING, WATCHING, WATCHING, WATCHING], {"ended": 2}),
        ([LISTING, WATCHING, GONE, LISTING, WATCHING], {"gone": 1}),
        ([LISTING, WATCHING, SILENT, WATCHING], {"silent": 1}),
        ([LISTING, WATCHING, LOST, WATCHING, LOST], {"error": 2}),
        ([LISTING, WATCHING, UNREADABLE, LISTING, WATCHING], {"malformed": 1}),
        ([LISTING, WATCHING, REFUSED, WATCHING, FAILED], {"error": 2}),
        # A list that fails is no watch.
        ([LISTING, FAILED, LISTING, SILENT, LISTING, WATCHING], {}),
        # An informer that was stopped, and another of the same kind.
        ([LISTING, WATCHING, LISTING, WATCHING], {}),
    ],
)
def test_restarts_are_counted_by_what_ended_the_watch(
    story: list[Status], restarts: dict[str, int]
) -> None:
    registry = CollectorRegistry()
    watches = WatchRestarts(registry)
    for status in story:
        watches.seen(CONFIG_MAPS, status)
    expected = {reason: restarts.get(reason, 0) for reason in WATCH_ENDINGS}
    assert counted(registry) == expected


def counted(registry: CollectorRegistry) -> dict[str, float | None]:
    name = "kudo_watch_restarts_total"
    return {reason: registry.get_sample_value(name, {"reason": reason}) for reason in WATCH_ENDINGS}


def test_each_kind_has_a_story_of_its_own() -> None:
    registry = CollectorRegistry()
    watches = WatchRestarts(registry)
    for resource in (CONFIG_MAPS, INSTANCES):
        watches.seen(resource, WATCHING)
    watches.seen(CONFIG_MAPS, GONE)
    watches.seen(INSTANCES, WATCHING)
    assert counted(registry) == {"ended": 1, "gone": 1, "error": 0, "malformed": 0, "silent": 0}


@dataclass(frozen=True)
class Contact:
    """A watched kind, and when something last came."""

    resource: Resource
    last_contact: float | None


def collected(*watched: Contact) -> dict[tuple[str, str], float]:
    """Return the samples at 1000 s of the monotonic clock, which is 5000 s of the epoch."""
    collector = WatchCollector(lambda: watched, clock=lambda: 1000.0, now=lambda: 5000.0)
    return {
        (sample.name, sample.labels["resource"]): sample.value
        for metric in collector.collect()
        for sample in metric.samples
    }


def test_the_last_contact_is_told_in_seconds_since_the_epoch() -> None:
    assert collected(Contact(CONFIG_MAPS, 990.0)) == {
        ("kudo_watches", "configmaps"): 1,
        ("kudo_watch_last_contact_timestamp_seconds", "configmaps"): 4990,
    }


def test_kinds_of_tenants_are_told_together_by_the_one_that_waited_longest() -> None:
    found = collected(Contact(TENANTS[0], 990.0), Contact(TENANTS[1], 950.0))
    assert found == {
        ("kudo_watches", "other"): 2,
        ("kudo_watch_last_contact_timestamp_seconds", "other"): 4950,
    }


def test_a_watch_without_any_contact_is_stale() -> None:
    found = collected(Contact(INSTANCES, None))
    assert found["kudo_watch_last_contact_timestamp_seconds", "instances.kudo.dev"] == 0


def test_registering_asks_for_no_watches() -> None:
    def asked() -> list[Contact]:
        raise AssertionError

    CollectorRegistry().register(WatchCollector(asked))
