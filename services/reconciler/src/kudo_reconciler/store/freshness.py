"""Freshness of the cached Instances: decides what must be read live before a run begins."""

import asyncio
import logging
import math
import random
from contextlib import aclosing
from dataclasses import dataclass, field

from kubeio.backoff import Backoff
from kubeio.cache.store import Delta
from kubeio.client import Client
from kubeio.errors import KubeError
from kubeio.types import parse_version, resource_version
from kudo.api import JsonObject
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.keys import Key
from kudo_reconciler.common.resources import INSTANCES

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Freshness:
    """Records when cached Instances were received, and which were stored in this term.

    A former leader may have ended a run that the cache still shows as scheduled, and its tasks must
    not run again. It sends nothing once this term has begun, so a state that was stored after that
    is newer than all of its writes. Own writes are in the cache as soon as they are answered.
    """

    _term: int | None = None
    _seen: dict[Key, float] = field(default_factory=dict)

    def forget_term(self) -> None:
        """Treat nothing as stored in this term until `begin_term` has returned."""
        self._term = None

    async def begin_term(self, client: Client, rng: random.Random) -> None:
        """Read the resourceVersion at which a term begins; retries until it succeeds."""
        backoff = Backoff(base=1.0, cap=60.0, rng=rng)
        while self._term is None:
            try:
                # The metadata of any one Instance: only the resourceVersion of the list is used.
                pages = client.pages(INSTANCES, limit=1, metadata_only=True)
                async with aclosing(pages):
                    self._term = parse_version((await anext(pages)).resource_version)
            except KubeError as error:
                log.debug(
                    "cannot read the resourceVersion of the term",
                    extra={"error": str(error)},
                )
            else:
                return
            await asyncio.sleep(backoff.next())

    def is_of_this_term(self, instance: JsonObject) -> bool:
        """Return whether this state of an Instance was stored after this term had begun."""
        version = resource_version(instance)
        return self._term is not None and version is not None and version > self._term

    def is_reached_by(self, version: int) -> bool:
        """Return whether a watch that has reached a resourceVersion has all of former leaders."""
        return self._term is not None and version >= self._term

    def changed(self, key: Key, delta: Delta) -> None:
        """Record that a state came into the cache, or that the Instance was deleted."""
        if delta.kind == "deleted":
            self._seen.pop(key, None)
        else:
            self._seen[key] = loop_seconds()

    def seen(self, key: Key) -> float:
        """Return when the cached state was received, in seconds of the event loop's clock."""
        return self._seen.get(key, math.inf)
