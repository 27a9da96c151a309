"""Ports: free when picked, distinct, and outside the range of outgoing connections."""

import socket
from dataclasses import asdict

import pytest

from kudo_cluster.control_plane import network
from kudo_cluster.control_plane.components import Ports


def test_a_listened_port_is_not_free() -> None:
    with socket.socket() as listener:
        listener.bind((network.LOOPBACK, 0))
        listener.listen()
        assert not network.is_free(listener.getsockname()[1])


def test_picked_ports_are_distinct_and_can_be_bound() -> None:
    picked = network.free_ports(20)
    assert len(set(picked)) == 20
    for port in picked:
        with socket.socket() as listener:
            listener.bind((network.LOOPBACK, port))


def test_picked_ports_lie_below_the_range_of_outgoing_connections() -> None:
    assert max(network.CANDIDATES) < 32768
    assert all(port in network.CANDIDATES for port in network.free_ports(5))


def test_picking_fails_when_no_port_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "is_free", lambda _: False)
    with pytest.raises(OSError, match="fewer than 1 free ports"):
        network.free_ports(1)


def test_a_cluster_has_a_port_of_its_own_for_each_listener() -> None:
    picked = asdict(Ports.pick())
    assert len(set(picked.values())) == len(picked) == 6
