"""The addresses of a cluster: no two nodes share one, and nobody's route is touched."""

import ipaddress
from itertools import combinations

import pytest

from kudo_cluster.control_plane import network
from kudo_cluster.control_plane.network import LoopbackNetwork, NodeNetwork
from kudo_cluster.errors import ClusterError


def test_two_nodes_share_no_address() -> None:
    ranges = [
        ipaddress.ip_network(text) for number in (0, 1, 255) for text in NodeNetwork(number).ranges
    ]
    assert not [pair for pair in combinations(ranges, 2) if pair[0].overlaps(pair[1])]


def test_both_ends_lie_on_the_cable() -> None:
    net = NodeNetwork(9)
    link = ipaddress.ip_network(net.link)
    assert {ipaddress.ip_address(net.server), ipaddress.ip_address(net.node)} == set(link.hosts())


@pytest.mark.parametrize(
    ("net", "address"), [(LoopbackNetwork(), "10.96.0.1"), (NodeNetwork(7), "10.96.7.1")]
)
def test_the_api_server_has_the_first_service(net: network.Network, address: str) -> None:
    assert network.service_of_the_server(net) == address


@pytest.mark.parametrize(
    ("route", "overlaps"),
    [
        ("10.244.3.0/24", True),
        ("10.244.3.17", True),
        ("10.96.0.0/12", True),
        ("10.245.3.3", True),
        ("10.244.4.0/24", False),
        ("192.0.2.0/24", False),
        ("fd00::/64", False),
    ],
)
def test_a_number_whose_addresses_somebody_else_uses_is_left_out(
    route: str, overlaps: bool
) -> None:
    assert network._overlap(NodeNetwork(3).ranges, ["127.0.0.0/8", route]) is overlaps


def test_a_command_that_fails_says_which_and_why() -> None:
    with pytest.raises(ClusterError, match=r"ls /no/such/file failed: .*No such file"):
        network._run("ls", "/no/such/file")
