"""Passes over the stored certificates, one situation each."""

import datetime as dt

import pytest

from kubeio.errors import Forbidden
from kubeio.resource import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from kudo_webhook.certificates.authority import new_authority, new_leaf, pem, serving_names
from kudo_webhook.certificates.due import desired, read_bundle, write_bundle
from kudo_webhook.retry import LostRace
from tests.unit.webhook.certificates.built_in.world import (
    ADMISSION,
    CONFIGURATION,
    NAMES,
    SECRET,
    START,
    TIMES,
    World,
)

OVERLAP = TIMES.overlap.total_seconds()
FOREIGN = new_authority(START, TIMES)


def rounds(world: World, seconds: float, every: float = 2.0) -> None:
    end = world.seconds + seconds
    while world.seconds < end:
        world.pass_time(every)
        for replica in world.replicas:
            replica.finish()


def running(replicas: int = 1) -> World:
    """Return a world in which all has been made and settled."""
    world = World(replicas)
    rounds(world, 30.0)
    world.api.writes.clear()
    world.written.clear()
    return world


def test_the_first_pass_makes_everything_at_once() -> None:
    world = World(1)
    world.replicas[0].finish()
    assert world.written == ["authority", "bundle", "leaf"]
    assert world.authority is not None
    assert world.replicas[0].served == world.leaf
    assert world.bundles() == [{world.authority.certificate}] * 2


def test_what_is_settled_is_not_written_again() -> None:
    world = running(3)
    rounds(world, 40.0)
    assert world.api.writes == []


def test_it_starts_before_there_are_configurations_and_fills_them_in_later() -> None:
    world = World(1)
    for plural in ADMISSION:
        del world.api.objects[plural, CONFIGURATION]
    rounds(world, 2.0)
    assert world.replicas[0].served is not None
    world.configure(MUTATING_WEBHOOKS)
    world.configure(VALIDATING_WEBHOOKS, webhooks=2)
    rounds(world, 2.0)
    assert world.authority is not None
    assert world.bundles() == [{world.authority.certificate}] * 3


def test_a_replica_adopts_what_another_has_made() -> None:
    world = running(1)
    leaf = world.leaf
    world.replicas[0].kill()
    world.replicas[0].step()
    world.replicas[0].finish()
    assert world.replicas[0].served == leaf
    assert world.api.writes == []


def test_of_two_that_make_the_same_at_once_the_later_one_uses_what_the_first_has_made() -> None:
    world = World(2)
    first, second = world.replicas
    while first.finished == second.finished == 0:
        first.step()
        second.step()
    for _ in range(4):
        first.finish()
        second.finish()
    assert world.written.count("authority") == world.written.count("leaf") == 1
    assert first.served == second.served == world.leaf


def test_a_new_authority_signs_only_after_it_was_trusted_for_a_while() -> None:
    world = running(2)
    assert world.authority is not None
    trusted_since = {world.authority.certificate: 0.0}
    while len(trusted_since) < 2 or world.seconds < max(trusted_since.values()) + 120.0:
        rounds(world, 4.0, every=4.0)
        for authority in frozenset.intersection(*world.bundles()):
            trusted_since.setdefault(authority, world.seconds)
        for replica in world.replicas:
            assert replica.served is not None
            since = trusted_since[replica.served.issuer]
            assert world.seconds - since >= TIMES.settling.total_seconds()


def test_a_former_authority_leaves_the_caBundles_once_its_last_leaf_has_expired() -> None:  # noqa: N802
    world = running(2)
    former = world.authority
    assert former is not None
    last_end = START
    while world.authority == former:
        assert world.leaf is not None
        last_end = world.leaf.certificate.not_valid_after_utc
        rounds(world, 5.0, every=5.0)
    made = world.seconds
    while any(former.certificate in held for held in world.bundles()):
        assert world.seconds < made + OVERLAP + 10.0
        rounds(world, 5.0, every=5.0)
    assert world.now > last_end
    assert world.now > former.certificate.not_valid_after_utc or world.seconds > made + 120.0
    assert world.authority is not None
    assert world.bundles() == [{world.authority.certificate}] * 2


def test_years_pass_without_an_expired_certificate_or_more_than_two_authorities() -> None:
    world = running(2)
    for _ in range(200):
        rounds(world, 5.0, every=5.0)
        assert world.expired() == []
        assert world.refused() == []
        assert max(map(len, world.bundles())) <= 2
    assert world.written.count("authority") == 2
    # Two thirds of a leaf's life is 76 s; each authority brings one more leaf.
    assert 13 <= world.written.count("leaf") <= 16


def test_after_a_long_sleep_everything_is_made_anew_at_once() -> None:
    world = running(1)
    world.pass_time(5000.0)
    world.replicas[0].finish()
    assert world.written == ["authority", "bundle", "leaf"]
    assert world.refused() == []
    assert world.expired() == []


def test_what_was_trusted_before_is_kept_for_a_while_when_the_webhook_takes_over() -> None:
    world = World(1)
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        world.configure(resource, pem(FOREIGN.certificate))
    rounds(world, OVERLAP - 10.0)
    assert all(FOREIGN.certificate in held for held in world.bundles())
    rounds(world, 30.0)
    assert all(FOREIGN.certificate not in held for held in world.bundles())


@pytest.mark.parametrize("bundle", [b"", b"nonsense", pem(FOREIGN.certificate)[:-40]])
def test_a_spoilt_bundle_is_restored(bundle: bytes) -> None:
    world = running(1)
    world.configure(VALIDATING_WEBHOOKS, bundle)
    rounds(world, 2.0)
    assert world.authority is not None
    assert world.bundles() == [{world.authority.certificate}] * 2
    assert world.api.writes == [CONFIGURATION] * 2
    assert world.written == ["bundle"]


def test_bundles_that_differ_are_united_and_patched_where_they_do() -> None:
    world = running(1)
    authority = world.authority
    assert authority is not None
    rounds(world, OVERLAP)
    world.api.writes.clear()
    world.configure(MUTATING_WEBHOOKS, write_bundle([authority.certificate, FOREIGN.certificate]))
    rounds(world, 2.0)
    # The authority was made long ago, so a stranger has nothing to do there.
    assert world.bundles() == [{authority.certificate}] * 2
    assert world.api.writes == [CONFIGURATION] * 2


def test_a_strange_certificate_in_the_secret_is_replaced_before_it_is_served() -> None:
    world = running(2)
    world.store(SECRET, new_leaf(FOREIGN, NAMES, world.now, TIMES))
    for replica in world.replicas:
        done = replica.finished
        while replica.finished == done:
            replica.step()
            assert world.refused() == []
        assert replica.served == world.leaf
    assert all(FOREIGN.certificate not in held for held in world.bundles())


@pytest.mark.parametrize("requests", range(1, 9))
def test_a_pass_with_an_outdated_view_removes_no_authority_that_was_just_added(
    requests: int,
) -> None:
    world = running(2)
    slow, fast = world.replicas
    rounds(world, 440.0, every=20.0)
    former = world.authority
    for _ in range(requests):
        slow.step()
    world.pass_time(15.0)
    fast.finish()
    assert world.authority != former
    slow.finish()
    assert world.authority is not None
    assert former is not None
    assert world.bundles() == [{former.certificate, world.authority.certificate}] * 2


def test_an_authority_that_is_none_is_replaced() -> None:
    world = running(1)
    assert world.leaf is not None
    world.store(f"{SECRET}-ca", world.leaf)
    rounds(world, 2.0)
    assert world.authority is not None
    assert world.authority.is_authority
    assert world.refused() == []


def test_replicas_for_different_names_do_not_replace_each_others_certificate() -> None:
    world = running(1)
    names = NAMES | serving_names("former-name", "kudo-system")
    assert world.authority is not None
    world.store(SECRET, new_leaf(world.authority, names - NAMES, world.now, TIMES))
    rounds(world, 2.0)
    assert world.leaf is not None
    assert world.leaf.names == names
    rounds(world, 90.0)
    assert world.leaf.names == NAMES


def test_a_replica_goes_on_serving_while_the_api_server_refuses() -> None:
    world = running(1)
    served = world.replicas[0].served
    world.api.refused = Forbidden("no", status=403)
    rounds(world, 10.0)
    assert world.replicas[0].served == served
    world.api.refused = None
    rounds(world, 80.0)
    assert world.replicas[0].served == world.leaf != served


# caBundles


async def test_a_configuration_that_has_changed_since_it_was_read_is_not_patched() -> None:
    world = running(1)
    configurations = world.objects.configurations
    bundles = await configurations.read()
    world.configure(MUTATING_WEBHOOKS, webhooks=2)
    world.api.writes.clear()
    with pytest.raises(LostRace, match="MutatingWebhookConfiguration admission"):
        await configurations.trust(frozenset((FOREIGN.certificate,)), bundles)
    assert world.api.writes == []


def test_what_the_stored_leaf_needs_is_trusted_however_long_ago_it_was_replaced() -> None:
    leaf = new_leaf(FOREIGN, NAMES, START, TIMES)
    stranger, current = new_authority(START, TIMES), new_authority(START, TIMES)
    held = frozenset((FOREIGN.certificate, stranger.certificate))
    soon, late = START + TIMES.overlap / 2, START + 2 * TIMES.overlap
    everything = held | {current.certificate}
    assert desired(current, held, leaf, soon, TIMES) == everything
    assert desired(current, held, None, soon, TIMES) == everything
    assert desired(current, held, leaf, late, TIMES) == everything - {stranger.certificate}
    assert desired(current, held, None, late, TIMES) == {current.certificate}


def test_a_bundle_is_the_same_for_the_same_certificates_in_any_order() -> None:
    later = new_authority(START + dt.timedelta(days=1), TIMES)
    certificates = [FOREIGN.certificate, later.certificate]
    bundle = write_bundle(certificates)
    assert bundle == write_bundle(reversed(certificates))
    assert bundle.startswith(pem(later.certificate))
    assert read_bundle(bundle) == frozenset(certificates)


def test_what_is_unreadable_in_a_bundle_is_left_out() -> None:
    text = b"# a comment\n" + pem(FOREIGN.certificate) + b"-----BEGIN CERTIFICATE-----\nx"
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    assert read_bundle(broken + text) == {FOREIGN.certificate}
