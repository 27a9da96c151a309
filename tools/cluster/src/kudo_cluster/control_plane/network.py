"""The IP addresses and ports of a cluster.

A cluster with simulated nodes uses the loopback interface only. A real node has its own network
namespace, which a veth pair connects to the machine. All its addresses derive from one number, so
that several nodes can run on one machine without changing each other's routes.

A port counts as free if it could be bound a moment ago; another process may take it before it is
used. Candidates therefore lie below the range of ephemeral ports (32768 and up by default), and a
caller must be ready to start a component again with other ports.
"""

import ipaddress
import json
import random
import socket
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from kudo_cluster.errors import ClusterError

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


_NUMBERS = range(256)


class Network(Protocol):
    """The address of the API server and the range of ClusterIPs."""

    @property
    def server(self) -> str:
        """The address on which the API server listens."""

    @property
    def services(self) -> str:
        """The range of ClusterIPs, such as 10.96.0.0/16."""


@dataclass(frozen=True, slots=True)
class LoopbackNetwork:
    """The loopback interface; ClusterIPs are not reachable."""

    server: str = LOOPBACK
    services: str = "10.96.0.0/16"


@dataclass(frozen=True, slots=True)
class NodeNetwork:
    """The veth pair between the machine and a real node, and the ranges of the node.

    Attributes:
        number: of the node on this machine, 0 to 255.
    """

    number: int

    @property
    def device(self) -> str:
        """The network device of the machine's end."""
        return f"kudo-{self.number}"

    @property
    def server(self) -> str:
        """The address of the machine's end, on which the API server listens."""
        return f"10.245.{self.number}.1"

    @property
    def node(self) -> str:
        """The address of the node's end."""
        return f"10.245.{self.number}.2"

    @property
    def link(self) -> str:
        """The range of the addresses of both ends."""
        return f"10.245.{self.number}.0/30"

    @property
    def pods(self) -> str:
        """The range of pod IPs."""
        return f"10.244.{self.number}.0/24"

    @property
    def services(self) -> str:
        """The range of ClusterIPs."""
        return f"10.96.{self.number}.0/24"

    @property
    def ranges(self) -> tuple[str, str, str]:
        """All ranges; nothing else on the machine may use them."""
        return self.link, self.pods, self.services


def service_of_the_server(network: Network) -> str:
    """Return the ClusterIP of the Service `kubernetes`, the first of the range."""
    return str(ipaddress.ip_network(network.services)[1])


def connect(sandbox: int) -> NodeNetwork:
    """Connect this machine with the network namespace of a process by a veth pair; needs root.

    The kernel removes the veth pair and its routes with the namespace.

    Raises:
        ClusterError: no addresses are left, or `ip` failed; the message says why.
    """
    taken = _routes()
    for number in _NUMBERS:
        network = NodeNetwork(number)
        if not _overlap(network.ranges, taken) and _add_veth(network, sandbox):
            _address(network, sandbox)
            return network
    ranges = "10.244.0.0/16, 10.245.0.0/16 and 10.96.0.0/16"
    raise ClusterError(f"no addresses are left for a real node in {ranges}")


def _routes() -> list[str]:
    listed = json.loads(_ip("-json", "route", "show", "table", "all"))
    return [route["dst"] for route in listed if route.get("dst") not in (None, "default")]


def _overlap(ours: Iterable[str], others: Iterable[str]) -> bool:
    mine = [ipaddress.IPv4Network(text) for text in ours]
    theirs = [ipaddress.IPv4Network(text, strict=False) for text in others if ":" not in text]
    return any(network.overlaps(other) for network in mine for other in theirs)


def _add_veth(network: NodeNetwork, sandbox: int) -> bool:
    """Add the veth pair; False if its name, which reserves the number, is taken."""
    try:
        _ip(
            *("link", "add", network.device, "type", "veth"),
            *("peer", "name", "eth0", "netns", str(sandbox)),
        )
    except ClusterError as error:
        if "File exists" in str(error):
            return False
        raise
    return True


def _address(network: NodeNetwork, sandbox: int) -> None:
    _ip("address", "add", f"{network.server}/30", "dev", network.device)
    _ip("link", "set", network.device, "up")
    inside = ("nsenter", f"--target={sandbox}", "--net")
    _run(*inside, "ip", "address", "add", f"{network.node}/30", "dev", "eth0")
    _run(*inside, "ip", "link", "set", "eth0", "up")
    # No default route, so that addresses beyond this machine fail at once instead of timing out.
    # ClusterIPs need a route, since the kernel looks it up before kube-proxy's rules apply.
    _run(*inside, "ip", "route", "add", network.services, "via", network.server)
    for destination in (network.pods, network.services):
        _ip("route", "add", destination, "via", network.node)


def _ip(*arguments: str) -> str:
    return _run("ip", *arguments)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ClusterError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout
