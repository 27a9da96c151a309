"""The kinds that may be watched in strict mode."""

from kudo.api.watched import WatchedKinds
from kudo.objects.health import needs_body
from kudo_reconciler.common.keys import INSTANCES, READINESS_KINDS


def test_secrets_are_never_watched_whatever_the_set_says() -> None:
    assert "secrets" not in WatchedKinds(frozenset({"secrets"}))


def test_the_default_has_what_makes_an_instance_ready() -> None:
    kinds = WatchedKinds()
    assert all(kind.name in kinds for kind in READINESS_KINDS)
    assert INSTANCES.name in kinds
    assert "configmaps" not in kinds
    assert "customresourcedefinitions.apiextensions.k8s.io" not in kinds
    assert all(needs_body(kind.api_version, kind.kind) for kind in READINESS_KINDS)


def test_a_text_is_read_as_it_is_written() -> None:
    kinds = WatchedKinds.read(" jobs.batch,pods,, pods")
    assert str(kinds) == "jobs.batch,pods"
    assert WatchedKinds.read(str(kinds)) == kinds
