"""One attempt to renew what is due: the protocol of this package, without its loop.

Between attempts only two facts are kept in memory, and both may be lost: what is served, and since
when the authority in force has been in the caBundles.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cryptography import x509

from kudo_webhook.certificates.built_in.authority import Pair, new_authority, new_leaf
from kudo_webhook.certificates.built_in.configurations import Bundles, Configurations
from kudo_webhook.certificates.built_in.due import authority_due, leaf_due
from kudo_webhook.certificates.built_in.lifetimes import Lifetimes
from kudo_webhook.certificates.built_in.store import PairSecret, Stored
from kudo_webhook.certificates.built_in.trust import desired, trusts

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
            self._take(leaf.pair)
        bundles = await self._objects.configurations.read()
        if leaf.pair is not None and self._works(leaf.pair, bundles):
            self._take(leaf.pair)
        stored = await self._objects.authority.read()
        authority = await self._authority(stored, began)
        settled = self._settled(authority, bundles, seen)
        changed = await self._trust(authority, leaf, bundles, began)
        due = leaf_due(leaf.pair, authority, self._names, self._now(), self._lifetimes)
        if due is None:
            return settled and not changed
        if settled or not self._any_works(leaf, bundles):
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

    async def _trust(
        self, authority: Pair, leaf: Stored, bundles: Bundles, began: datetime
    ) -> bool:
        trusted = desired(authority, bundles.held, leaf.pair, began, self._lifetimes)
        changed = await self._objects.configurations.trust(trusted, bundles)
        if changed:
            self._on_write("bundle")
            log.info("caBundles changed", extra={"authorities": len(trusted)})
        return bool(changed)

    def _any_works(self, leaf: Stored, bundles: Bundles) -> bool:
        return any(
            pair is not None and self._works(pair, bundles) for pair in (leaf.pair, self._served)
        )

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
