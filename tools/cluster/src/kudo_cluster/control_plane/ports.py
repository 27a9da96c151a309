"""Free ports on the loopback interface.

A port counts as free if it could be bound a moment ago; another process may take it before it is
used. Candidates therefore lie below the range of ephemeral ports (32768 and up by default), and a
caller must be ready to start a component again with other ports.
"""

import random
import socket

LOOPBACK = "127.0.0.1"
CANDIDATES = range(20000, 30000)


def is_free(port: int) -> bool:
    """Return whether the port can be bound on the loopback interface now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Return distinct free ports, at random, so that clusters started together rarely collide."""
    chosen: list[int] = []
    for port in random.sample(CANDIDATES, len(CANDIDATES)):
        if is_free(port):
            chosen.append(port)
            if len(chosen) == count:
                return chosen
    raise OSError(f"fewer than {count} free ports between {CANDIDATES[0]} and {CANDIDATES[-1]}")
