"""How fresh the cached Instances are, which says what has to be read live before a run begins."""

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
from kudo_reconciler.clock import loop_seconds
from kudo_reconciler.keys import Key
from kudo_reconciler.resources import INSTANCES

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Freshness:
    """Knows when cached Instances were seen, and which were stored in this term of leadership.

    A former leader may have ended a run that the cache still shows as scheduled, and its tasks must
    not run again. It sends nothing once this term has begun, so a state that was stored after that
    comes after all of its writes. Own writes are in the cache as soon as they are answered.
    """

    _term: int | None = None
    _seen: dict[Key, float] = field(default_factory=dict)

    def forget_term(self) -> None:
        """Count nothing as stored in this term until `begin_term` has been answered."""
        self._term = None

    async def begin_term(self, client: Client, rng: random.Random) -> None:
        """Ask for the resourceVersion at which a term begins; tries again until it is answered."""
        backoff = Backoff(base=1.0, cap=60.0, rng=rng)
        while self._term is None:
            try:
                # Of one Instance, whichever that is, the metadata: the version of the list counts.
                pages = client.pages(INSTANCES, limit=1, metadata_only=True)
                async with aclosing(pages):
                    self._term = parse_version((await anext(pages)).resource_version)
            except KubeError as error:
                log.debug("the term is not known", extra={"error": str(error)})
            else:
                return
            await asyncio.sleep(backoff.next())

    def is_of_this_term(self, instance: JsonObject) -> bool:
        """Return whether this state of an Instance was stored after this term had begun."""
        version = resource_version(instance)
        return self._term is not None and version is not None and version > self._term

    def changed(self, key: Key, delta: Delta) -> None:
        """Take note that a state came into the cache, or that the Instance is gone."""
        if delta.kind == "deleted":
            self._seen.pop(key, None)
        else:
            self._seen[key] = loop_seconds()

    def seen(self, key: Key) -> float:
        """Return when the cached state was seen first, in seconds of the event loop's clock."""
        return self._seen.get(key, math.inf)
