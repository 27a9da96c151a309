"""The loop that keeps this replica's certificate: a pass now and then, until cancelled.

A failed pass is followed by another one with a growing delay, and changes nothing about what is
served. Trouble is logged once until it changes.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kubeio.backoff import Backoff
from kubeio.errors import Forbidden, KubeError
from kubeio.leader_election.elector import elapsed, utc_now
from kudo_webhook.certificates.built_in.authority import Pair, serving_names
from kudo_webhook.certificates.built_in.configurations import ConfigurationApi, Configurations
from kudo_webhook.certificates.built_in.lifetimes import Lifetimes
from kudo_webhook.certificates.built_in.rotation import Objects, Rotation, Write
from kudo_webhook.certificates.built_in.store import LostRace, PairSecret, SecretApi

log = logging.getLogger(__name__)

_SOON_SECONDS = 1.0
_JITTER = 0.2
_SUSPICIOUS_LOSSES = 5


class Api(SecretApi, ConfigurationApi, Protocol):
    """What is needed of a `kubeio.client.Client`."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """What is configured.

    Attributes:
        secret: Name of the serving Secret; that of the authority has `-ca` appended.
        namespace: Of the Service and of both Secrets; None for the one that we run in.
        service: Under which the API server calls us.
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
        built_in: What is configured.
        namespace: The one that we run in.
        serve: Called with each leaf that is to be served from now on.
        on_write: Told of each write that succeeded, for metrics.
        on_failure: Told of each failed pass; races lost to other replicas are none.
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
        self._on_failure = on_failure
        self._rng = random.Random()  # noqa: S311 - jitter
        self._races = Backoff(base=_SOON_SECONDS / 4, cap=self._polling)
        self._failures = Backoff(base=_SOON_SECONDS, cap=2 * self._polling)
        self._complaint = ""

    async def run(self) -> None:
        """Do passes until cancelled."""
        while True:
            delay = await self._pass()
            await asyncio.sleep(delay)

    async def _pass(self) -> float:
        """Do one pass; returns the seconds until the next one."""
        try:
            async with asyncio.timeout(self._times.patience.total_seconds()):
                done = await self._rotation.advance()
        except LostRace as error:
            return self._lost(error)
        except (KubeError, TimeoutError) as error:
            return self._failed(error)
        self._races.reset()
        self._failures.reset()
        self._complaint = ""
        delay = self._polling if done else min(self._polling, _SOON_SECONDS)
        return delay * self._rng.uniform(1.0 - _JITTER, 1.0)

    @property
    def _polling(self) -> float:
        return self._times.polling.total_seconds()

    def _lost(self, error: LostRace) -> float:
        delay = self._races.next()
        if self._races.attempts >= _SUSPICIOUS_LOSSES:
            self._complain(str(error))
        return delay

    def _failed(self, error: Exception) -> float:
        self._on_failure()
        text = str(error) or "the API server did not answer in time"
        if isinstance(error, Forbidden):
            text += "; certs/README.md names the rights that built-in certificates need"
        self._complain(text)
        return self._failures.next(getattr(error, "retry_after", None))

    def _complain(self, text: str) -> None:
        if text != self._complaint:
            log.warning("certificates cannot be kept: %s", text)
        self._complaint = text
