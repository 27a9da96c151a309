"""Where functions get what is neither in the template nor in its data: time and randomness.

An `Environment` is given its sources, so whoever renders decides whether two renderings may
differ. Templates reach them through functions alone: `now`, `uuidv4`, `randAlpha`, `env` and so
on.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


def _no_addresses(_host: str) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Sources:
    """Where functions get time, random bytes, environment variables and addresses of hosts.

    By default, those of the process.

    Attributes:
        now: nanoseconds since 1970.
        elapsed: seconds of a clock that never goes back, for `Limits.seconds`.
        random: returns that many random bytes; keys and passwords are made of them.
        variables: the environment that `env` and `expandenv` of policy "sprig" see.
        resolve: addresses of a host for `getHostByName` of policy "sprig"; none by default.
    """

    now: Callable[[], int] = time.time_ns
    elapsed: Callable[[], float] = time.monotonic
    random: Callable[[int], bytes] = os.urandom
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)
    resolve: Callable[[str], Sequence[str]] = _no_addresses
