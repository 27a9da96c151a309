"""Free ports on the loopback interface.

A port is free when it could be bound a moment ago; nobody can promise more. Candidates therefore
come from below the range in which the kernel places outgoing connections (32768 and up by default),
and whoever starts a component must be ready to start again with other ports.
"""

import random
import socket

LOOPBACK = "127.0.0.1"
CANDIDATES = range(20000, 30000)


def is_free(port: int) -> bool:
    """Tell whether the port can be bound on the loopback interface right now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Pick distinct free ports at random, so that clusters started together rarely collide."""
    chosen: list[int] = []
    for port in random.sample(CANDIDATES, len(CANDIDATES)):
        if is_free(port):
            chosen.append(port)
            if len(chosen) == count:
                return chosen
    raise OSError(f"fewer than {count} free ports between {CANDIDATES[0]} and {CANDIDATES[-1]}")
