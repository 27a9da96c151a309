"""Renews the built-in certificates that this replica serves, until cancelled.

A failed attempt changes nothing about what is served.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kubeio.errors import Forbidden
from kubeio.leader_election.elector import elapsed, utc_now
from kudo_webhook.certificates.built_in.authority import Pair, serving_names
from kudo_webhook.certificates.built_in.configurations import ConfigurationApi, Configurations
from kudo_webhook.certificates.built_in.lifetimes import Lifetimes
from kudo_webhook.certificates.built_in.rotation import Objects, Rotation, Write
from kudo_webhook.certificates.built_in.store import PairSecret, SecretApi
from kudo_webhook.retry import SOON_SECONDS, RetryLoop

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
