"""Asks for a bearer token, and keeps the answers about it for a short time.

Whoever reaches the port may send any number of tokens. So reviews in flight are bounded, and those
that wait for them; a token that was allowed before has reviews of its own, so that a flood of new
tokens neither displaces its answer nor delays it. Tokens are kept as keyed hashes only, and
are never logged.
"""

import asyncio
import hashlib
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Literal

from serving.settings import Option, one_of

log = logging.getLogger(__name__)

Verdict = Literal["allowed", "forbidden", "unauthenticated"]
Authorize = Callable[[str], Awaitable[Verdict]]
"""Returns what the holder of a token may do; raises if that cannot be told now."""

LONGEST: Final = 8192
"""Bytes of a token. Those of ServiceAccounts have about 1,000."""
_ALLOWED_SECONDS, _REFUSED_SECONDS = 60.0, 10.0
"""How long an answer is believed."""
_KEPT: Final = 256
"""Allowed tokens that are remembered, and as many refused ones."""
_REVIEWS, _REVIEWS_OF_KNOWN = 4, 2
"""Reviews at a time: of tokens, and of those that were allowed before."""
_WAITING: Final = 16
"""Requests that wait for a review, of either sort."""
_WAIT_SECONDS, _REVIEW_SECONDS = 2.0, 5.0
_SPACING: Final = 0.2
"""Seconds from the beginning of a review to the next one in its place: 20 new tokens a second."""
_LOGGED_EVERY: Final = 60.0


MetricsAuth = Literal["none", "token"]


def metrics_auth_option(env_prefix: str) -> Option:
    """Return the option that makes /metrics ask for a token."""
    return Option(
        "--metrics-auth",
        env_prefix + "METRICS_AUTH",
        "none: everybody who reaches the port may read /metrics. token: who sends the token of a "
        "user of the cluster that may get the path /metrics; the service needs the rights to "
        "create tokenreviews and subjectaccessreviews.",
        default="none",
        type=one_of("none", "token"),
    )


class Busy(Exception):
    """No review is possible now: too many are in flight, or the API server gives no answer."""


class _Answers:
    """The last answers, by hash of the token; the one used longest ago is forgotten first."""

    def __init__(self) -> None:
        self._items: OrderedDict[bytes, tuple[Verdict, float]] = OrderedDict()

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._items

    def get(self, digest: bytes, now: float) -> Verdict | None:
        verdict, until = self._items.get(digest, (None, 0.0))
        if verdict is None or until <= now:
            return None
        self._items.move_to_end(digest)
        return verdict

    def put(self, digest: bytes, verdict: Verdict, until: float) -> None:
        self._items[digest] = verdict, until
        self._items.move_to_end(digest)
        if len(self._items) > _KEPT:
            self._items.popitem(last=False)

    def discard(self, digest: bytes) -> None:
        self._items.pop(digest, None)


class _Reviews:
    """Bounds the reviews in flight, and the requests that wait for one."""

    def __init__(self, limit: int) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._waiting = 0

    async def run(self, review: Callable[[], Awaitable[Verdict]]) -> Verdict:
        """Run a review.

        Raises:
            Busy: there are too many.
            TimeoutError: it takes too long.
        """
        await self._enter()
        loop = asyncio.get_running_loop()
        free_at = loop.time() + _SPACING
        try:
            async with asyncio.timeout(_REVIEW_SECONDS):
                return await review()
        finally:
            loop.call_at(free_at, self._slots.release)

    async def _enter(self) -> None:
        if self._waiting >= _WAITING:
            raise Busy
        self._waiting += 1
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._slots.acquire()
        except TimeoutError:
            raise Busy from None
        finally:
            self._waiting -= 1


class TokenGate:
    """Decides who may read what is behind it.

    Args:
        authorize: Called with each token that is not known.
        clock: Monotonic seconds.
    """

    def __init__(self, authorize: Authorize, clock: Callable[[], float] = time.monotonic) -> None:
        self._authorize = authorize
        self._clock = clock
        self._key = secrets.token_bytes(32)
        # Apart, so that refused ones never displace an allowed one.
        self._allowed, self._refused = _Answers(), _Answers()
        self._new, self._known = _Reviews(_REVIEWS), _Reviews(_REVIEWS_OF_KNOWN)
        self._logged_at = float("-inf")

    async def decide(self, header: bytes | None) -> Verdict:
        """Return the answer to an Authorization header.

        Raises:
            Busy: it cannot be decided now.
        """
        token = _token(header)
        if token is None:
            return "unauthenticated"
        digest = hashlib.blake2b(token.encode(), key=self._key, digest_size=32).digest()
        verdict = self._kept(digest)
        return await self._review(digest, token) if verdict is None else verdict

    def _kept(self, digest: bytes) -> Verdict | None:
        now = self._clock()
        return self._allowed.get(digest, now) or self._refused.get(digest, now)

    async def _review(self, digest: bytes, token: str) -> Verdict:
        async def ask() -> Verdict:
            # Another request with this token may have been answered meanwhile.
            return self._kept(digest) or await self._authorize(token)

        reviews = self._known if digest in self._allowed else self._new
        try:
            verdict = await reviews.run(ask)
        except Busy:
            raise
        except Exception as error:  # noqa: BLE001 - of a library that this one does not know
            self._tell(error)
            raise Busy from None
        self._keep(digest, verdict)
        return verdict

    def _keep(self, digest: bytes, verdict: Verdict) -> None:
        now = self._clock()
        if verdict == "allowed":
            self._refused.discard(digest)
            self._allowed.put(digest, verdict, now + _ALLOWED_SECONDS)
        else:
            self._allowed.discard(digest)
            self._refused.put(digest, verdict, now + _REFUSED_SECONDS)

    def _tell(self, error: Exception) -> None:
        """Log why no token can be reviewed; by type, since a text might quote the token."""
        if self._clock() - self._logged_at >= _LOGGED_EVERY:
            self._logged_at = self._clock()
            fields = {"error": type(error).__name__, "status": getattr(error, "status", None)}
            log.warning("cannot review a token for metrics", extra=fields)


def _token(header: bytes | None) -> str | None:
    """Return the token of `Bearer TOKEN`; None if there is none that could be valid."""
    scheme, _, token = (header or b"").partition(b" ")
    token = token.strip()
    if scheme.lower() != b"bearer" or not token or len(token) > LONGEST:
        return None
    if not all(33 <= byte <= 126 for byte in token):
        return None
    return token.decode("ascii")
