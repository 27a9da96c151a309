"""Built-in certificates: an own authority, for clusters without cert-manager.

Two Secrets of type kubernetes.io/tls hold the state, and every replica does the same passes over
them; there is no leader. `NAME-ca` holds the authority with its key, `NAME` the serving pair (the
leaf) that all replicas serve, with its issuer under `ca.crt`: who may read the serving Secret can
sign nothing. The caBundles of both webhook configurations say what the API server trusts, and they
are the only memory of former authorities.

**Invariant**: at every moment, each leaf that a replica serves verifies against the caBundles as
they are stored; so replacing the leaf or the authority costs no request, whatever the
interleaving of the replicas, and wherever one of them is killed.

A pass reads, in this order, the serving Secret, both configurations and the
authority's Secret, and then writes what is due, in this order:

1. **The authority**, if it is missing, damaged, expired, or past 80 % of its life. The former key
   is gone with that write: nothing is signed with it from then on.
2. **Both caBundles**, so that they hold the authority in force and, besides, what they held
   before. A former authority stays for `Lifetimes.overlap` after its successor was made: by then
   every leaf that it signed has expired, and nothing has to be assumed about the replicas, not
   even that they reach the API server. It also stays as long as the serving Secret needs it.
3. **The leaf**, if it is missing, damaged, expired, past 2/3 of its life, for other names or of
   another authority; but only once this replica has seen the authority in both caBundles for
   `Lifetimes.settling`, the time in which the API servers learn of it. Where no leaf works there
   is nothing to lose, and the leaf is written at once.

A replica takes the stored leaf over when the caBundles that it has read trust its issuer; one
that has nothing to serve yet takes whatever is stored.

Why it holds with several replicas: each write tests the resourceVersion of what it was decided
on, and the loser starts over with what the winner wrote. Between two objects there is no such
test, so the order of the reads stands in for it. What a caBundle held when it was read had been
in the authority's Secret before, so the authority's Secret, read later, shows that authority or a
later one: a pass with an outdated view never removes the authority that somebody else has just
added. And a leaf counts its life from the beginning of the pass that signs it, which takes
`Lifetimes.patience` at most, so that `overlap` bounds its end.

Deleting or damaging either Secret by hand costs nothing: the caBundles are kept, so what is
served goes on working until the new pair is trusted everywhere. An authority that leaked is
replaced by deleting `NAME-ca`, and distrusted at once by clearing the caBundles, at the price of
the requests until the new leaf is served, seconds later.

The webhook configurations must exist for anybody to call us, but not for us to start. Clocks of
replicas may differ by `Lifetimes.backdating`.

`Rotation` makes one attempt; between attempts only two facts are kept in memory, and both may be
lost: what is served, and since when the authority in force has been in the caBundles. `Keeper`
makes one attempt after another. A failed one changes nothing about what is served.
"""

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from cryptography import x509

from kubeio.errors import Forbidden
from kubeio.leader_election.elector import elapsed, utc_now
from kudo_webhook.certificates.authority import (
    Lifetimes,
    Pair,
    new_authority,
    new_leaf,
    serving_names,
)
from kudo_webhook.certificates.due import authority_due, desired, leaf_due, trusts
from kudo_webhook.certificates.store import (
    Bundles,
    ConfigurationApi,
    Configurations,
    PairSecret,
    SecretApi,
    Stored,
)
from kudo_webhook.retry import SOON_SECONDS, RetryLoop

log = logging.getLogger(__name__)

Write = Literal["authority", "bundle", "leaf"]


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects that hold the state."""

    leaf: PairSecret
    authority: PairSecret
    configurations: Configurations


class Rotation:
    """The certificates as seen by one replica.

    Args:
        objects: Where the state is.
        names: DNS names of a serving certificate.
        lifetimes: Of what is made.
        serve: Called with each leaf that is to be served from now on.
        on_write: Told of each write that succeeded.
        now: The time of day, with its zone.
        elapsed: Seconds that only grow.
    """

    def __init__(
        self,
        objects: Objects,
        names: frozenset[str],
        lifetimes: Lifetimes,
        *,
        serve: Callable[[Pair], None],
        on_write: Callable[[Write], None],
        now: Callable[[], datetime],
        elapsed: Callable[[], float],
    ) -> None:
        self._objects = objects
        self._names = names
        self._lifetimes = lifetimes
        self._serve = serve
        self._on_write = on_write
        self._now = now
        self._elapsed = elapsed
        self._served: Pair | None = None
        self._trusted_since: tuple[x509.Certificate, float] | None = None

    async def advance(self) -> bool:
        """Make one attempt; the caller ends it after `Lifetimes.patience`.

        Returns:
            Whether nothing is left to be done before the next regular attempt.

        Raises:
            LostRace: another replica has written meanwhile; start over.
            kubeio.errors.KubeError: the API server refused, or cannot be reached.
        """
        # Lifetimes count from here; what another replica has written may be newer.
        began, seen = self._now(), self._elapsed()
        leaf = await self._objects.leaf.read()
        if self._served is None and leaf.pair is not None:
            # Trusted or not: without any, each request fails.
            self._take(leaf.pair)
        bundles = await self._objects.configurations.read()
        if leaf.pair is not None and self._works(leaf.pair, bundles):
            self._take(leaf.pair)
        stored = await self._objects.authority.read()
        authority = await self._authority(stored, began)
        settled = self._settled(authority, bundles, seen)
        trusted = desired(authority, bundles.held, leaf.pair, began, self._lifetimes)
        changed = await self._objects.configurations.trust(trusted, bundles)
        if changed:
            self._on_write("bundle")
            log.info("caBundles changed", extra={"authorities": len(trusted)})
        due = leaf_due(leaf.pair, authority, self._names, self._now(), self._lifetimes)
        if due is None:
            return settled and not changed
        pairs = [pair for pair in (leaf.pair, self._served) if pair is not None]
        # Where no leaf works, every request fails already: there is nothing to wait for.
        if settled or not any(self._works(pair, bundles) for pair in pairs):
            await self._renew(leaf, authority, due, began)
        return False

    async def _authority(self, stored: Stored, began: datetime) -> Pair:
        pair = stored.pair if stored.pair and stored.pair.is_authority else None
        due = authority_due(pair, self._now(), self._lifetimes)
        if pair is not None and due is None:
            return pair
        made = new_authority(began, self._lifetimes)
        await self._objects.authority.write(made, stored)
        self._on_write("authority")
        _log("new authority", due, stored, made)
        return made

    def _settled(self, authority: Pair, bundles: Bundles, seen: float) -> bool:
        """Whether every API server can be assumed to trust the authority."""
        common = bundles.common
        if common is None:
            return True
        if authority.certificate not in common:
            self._trusted_since = None
            return False
        if self._trusted_since is None or self._trusted_since[0] != authority.certificate:
            self._trusted_since = (authority.certificate, seen)
        return seen - self._trusted_since[1] >= self._lifetimes.settling.total_seconds()

    def _works(self, leaf: Pair, bundles: Bundles) -> bool:
        """Whether whoever calls us trusts this leaf."""
        common = bundles.common
        return trusts(frozenset((leaf.issuer,)) if common is None else common, leaf, self._now())

    async def _renew(self, stored: Stored, authority: Pair, due: str, began: datetime) -> None:
        others = stored.pair.names if stored.pair and due == "other names" else frozenset()
        made = new_leaf(authority, self._names | others, began, self._lifetimes)
        await self._objects.leaf.write(made, stored)
        self._on_write("leaf")
        _log("new serving certificate", due, stored, made)
        self._take(made)

    def _take(self, leaf: Pair) -> None:
        if self._served is not None and self._served.certificate == leaf.certificate:
            return
        self._serve(leaf)
        self._served = leaf
        log.info("certificate loaded", extra={"expires": str(leaf.certificate.not_valid_after_utc)})


def _log(what: str, due: str | None, replaced: Stored, made: Pair) -> None:
    extra = {"reason": replaced.damage or due, "expires": str(made.certificate.not_valid_after_utc)}
    log.info(what, extra=extra)


_JITTER = 0.2


class Api(SecretApi, ConfigurationApi, Protocol):
    """What is needed of a `kubeio.client.Client`."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """The options of built-in certificates.

    Attributes:
        secret: Name of the serving Secret; that of the authority has `-ca` appended.
        namespace: Of the Service and of both Secrets; None for that of the webhook.
        service: Name of the Service that the API server calls.
        configuration: Name of both webhook configurations.
        lifetimes: Of the certificates.
    """

    secret: str
    namespace: str | None
    service: str
    configuration: str
    lifetimes: Lifetimes


class Keeper:
    """Keeps the certificates of one replica.

    Args:
        api: Access to the API server.
        built_in: The options.
        namespace: The namespace of the webhook.
        serve: Called with each serving certificate, to be served from now on.
        on_write: Told of each write that succeeded, for metrics.
        on_failure: Told of each failed attempt; races lost to other replicas are none.
    """

    def __init__(
        self,
        api: Api,
        built_in: BuiltIn,
        *,
        namespace: str,
        serve: Callable[[Pair], None],
        on_write: Callable[[Write], None],
        on_failure: Callable[[], None],
    ) -> None:
        namespace, secret = built_in.namespace or namespace, built_in.secret
        self._times = built_in.lifetimes
        self._rotation = Rotation(
            Objects(
                leaf=PairSecret(api, namespace, secret),
                authority=PairSecret(api, namespace, f"{secret}-ca"),
                configurations=Configurations(api, built_in.configuration),
            ),
            serving_names(built_in.service, namespace),
            built_in.lifetimes,
            serve=serve,
            on_write=on_write,
            now=utc_now,
            elapsed=elapsed,
        )
        self._rng = random.Random()  # noqa: S311 - jitter
        self._loop = RetryLoop(
            self._advance,
            timeout=built_in.lifetimes.patience.total_seconds(),
            longest_delay=2 * self._polling,
            complaint="certificates cannot be kept",
            describe=_describe,
            on_failure=on_failure,
        )

    async def run(self) -> None:
        """Renew what is due until cancelled."""
        await self._loop.run()

    async def _advance(self) -> float:
        """Renew what is due now; returns the seconds until the next look."""
        done = await self._rotation.advance()
        delay = self._polling if done else min(self._polling, SOON_SECONDS)
        # Replicas that were started together would otherwise always look together.
        return delay * self._rng.uniform(1.0 - _JITTER, 1.0)

    @property
    def _polling(self) -> float:
        return self._times.polling.total_seconds()


def _describe(error: Exception) -> str:
    text = str(error)
    if isinstance(error, Forbidden):
        text += "; certs/README.md names the rights that built-in certificates need"
    return text
