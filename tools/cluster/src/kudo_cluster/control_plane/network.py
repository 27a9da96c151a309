"""The addresses of one cluster.

A cluster with simulated nodes has nothing but the loopback interface. A real node has a network
namespace of its own, joined to the machine by one virtual cable; all its addresses follow from one
number, so that several nodes run side by side and nobody else's route is touched.
"""

import ipaddress
import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from kudo_cluster.control_plane.ports import LOOPBACK
from kudo_cluster.errors import ClusterError

_NUMBERS = range(256)


class Network(Protocol):
    """Where the API server listens, and which addresses services get."""

    @property
    def server(self) -> str:
        """The API server's own address."""

    @property
    def services(self) -> str:
        """The range of ClusterIPs, as in 10.96.0.0/16."""


@dataclass(frozen=True, slots=True)
class LoopbackNetwork:
    """No address but the loopback interface's; ClusterIPs lead nowhere."""

    server: str = LOOPBACK
    services: str = "10.96.0.0/16"


@dataclass(frozen=True, slots=True)
class NodeNetwork:
    """The cable between the machine and a real node, and what lies behind it.

    Attributes:
        number: tells the nodes of one machine apart, 0 to 255.
    """

    number: int

    @property
    def device(self) -> str:
        """The machine's end of the cable."""
        return f"kudo-{self.number}"

    @property
    def server(self) -> str:
        """The machine's address on the cable, where the API server listens."""
        return f"10.245.{self.number}.1"

    @property
    def node(self) -> str:
        """The node's address on the cable."""
        return f"10.245.{self.number}.2"

    @property
    def cable(self) -> str:
        """The range of both ends."""
        return f"10.245.{self.number}.0/30"

    @property
    def pods(self) -> str:
        """The range of pods."""
        return f"10.244.{self.number}.0/24"

    @property
    def services(self) -> str:
        """The range of ClusterIPs."""
        return f"10.96.{self.number}.0/24"

    @property
    def ranges(self) -> tuple[str, str, str]:
        """Everything that nobody else on the machine may use."""
        return self.cable, self.pods, self.services


def service_of_the_server(network: Network) -> str:
    """Return the ClusterIP of the Service `kubernetes`: the first one of the range."""
    return str(ipaddress.ip_network(network.services)[1])


def connect(sandbox: int) -> NodeNetwork:
    """Lay a cable between this machine and the network namespace of a process; needs root.

    The cable and its routes go when the namespace goes.

    Raises:
        ClusterError: no addresses are left, or the kernel refuses; the text says why.
    """
    taken = _routes()
    for number in _NUMBERS:
        network = NodeNetwork(number)
        if not _overlap(network.ranges, taken) and _lay(network, sandbox):
            _address(network, sandbox)
            return network
    raise ClusterError("no addresses are left for a real node between 10.244.0.0 and 10.245.255.0")


def _routes() -> list[str]:
    listed = json.loads(_ip("-json", "route", "show", "table", "all"))
    return [route["dst"] for route in listed if route.get("dst") not in (None, "default")]


def _overlap(ours: Iterable[str], others: Iterable[str]) -> bool:
    mine = [ipaddress.IPv4Network(text) for text in ours]
    theirs = [ipaddress.IPv4Network(text, strict=False) for text in others if ":" not in text]
    return any(one.overlaps(other) for one in mine for other in theirs)


def _lay(network: NodeNetwork, sandbox: int) -> bool:
    """Make the device, whose name is the claim to the number; False if another one has it."""
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
    # No default route: whatever is not on this machine is unreachable at once. ClusterIPs need a
    # route all the same, because the kernel looks for one before it rewrites the address.
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
