"""The connections of a port that have sent something, and the bytes of bodies that they hold.

If there are too many, the oldest one with an incomplete request is closed, then the one that has
been idle for longest. A client that opens many connections thus closes its own, while the API
server, which sends whole requests at once, is answered. A complete request is always answered.
`serving.listener` bounds connections that have sent nothing.
"""

from collections.abc import Callable
from typing import Literal

from serving.limits import PortLimits, Reason

_State = Literal["incomplete", "idle", "busy"]


def _nothing() -> None:
    """Stands for a transport or a protocol that does not exist yet, or no more."""


class Slot:
    """The slot of one connection; `incomplete` from the start.

    Attributes:
        held: Bytes of its body in memory.
        abort: Ends the connection at once.
        shed: Refuses the request to free its body; called for incomplete bodies.
    """

    __slots__ = ("_connections", "abort", "held", "shed", "state")

    def __init__(self, connections: "Connections") -> None:
        self._connections = connections
        self.state: _State = "incomplete"
        self.held = 0
        self.abort: Callable[[], None] = _nothing
        self.shed: Callable[[], None] = _nothing

    def enter(self, state: _State) -> None:
        """Set the state: idle between requests, incomplete until one is sent, then busy."""
        if state != self.state:
            self._connections.move(self, state)

    def hold(self, size: int) -> bool:
        """Count more bytes of the body; return whether there is room for them."""
        return self._connections.hold(self, size)

    def release(self) -> None:
        """Stop counting the body."""
        if self.held:
            self._connections.release(self)

    def close(self) -> None:
        """Free the slot of a connection that has ended; may be called again."""
        self._connections.remove(self)
        # Both lead to the protocol, which leads here: a cycle that would keep its memory.
        self.abort = self.shed = _nothing


class Connections:
    """The connections of a port that have sent something.

    Attributes:
        limits: The limits of the port.
        held: Bytes of bodies in memory now.
        observe: Called with the reason when the port closes a connection.
    """

    def __init__(
        self, limits: PortLimits, observe: Callable[[Reason], None] = lambda _reason: None
    ) -> None:
        self.limits = limits
        self.held = 0
        self.observe = observe
        # Dicts as ordered sets: the first is the oldest.
        self._slots: dict[_State, dict[Slot, None]] = {"incomplete": {}, "idle": {}, "busy": {}}
        self._small = limits.small
        self._large: dict[Slot, None] = {}
        self._held_large = 0
        self._room_large = limits.held_bytes - limits.connections * limits.small

    def __len__(self) -> int:
        return sum(map(len, self._slots.values()))

    def admit(self) -> Slot | None:
        """Return a slot for a new connection, if need be that of another one.

        Returns:
            None if all connections wait for their answers: close the new one.
        """
        if len(self) >= self.limits.connections:
            self.observe("too_many_connections")
            if not self._close_oldest():
                return None
        slot = Slot(self)
        self._slots["incomplete"][slot] = None
        return slot

    def abort_all(self) -> None:
        """Close every connection at once."""
        for slots in self._slots.values():
            for slot in list(slots):
                self._abort(slot)

    def move(self, slot: Slot, state: _State) -> None:
        """Move a connection to the end of those in another state."""
        slots = self._slots[slot.state]
        if slot in slots:
            del slots[slot]
            slot.state = state
            self._slots[state][slot] = None

    def remove(self, slot: Slot) -> None:
        """Free the slot of a connection, and its body."""
        slot.release()
        self._slots[slot.state].pop(slot, None)

    def hold(self, slot: Slot, size: int) -> bool:
        """Count more bytes for a connection; False if there is no room.

        The first `PortLimits.small` bytes of each body always have room, so small requests go
        through while large ones have to wait.
        """
        large = max(0, slot.held + size - self._small) - max(0, slot.held - self._small)
        while large and self._held_large + large > self._room_large:
            if not self._shed_oldest(slot):
                return False
        slot.held += size
        self.held += size
        if large:
            self._held_large += large
            self._large[slot] = None
        return True

    def release(self, slot: Slot) -> None:
        """Stop counting the body of a connection."""
        self.held -= slot.held
        self._held_large -= max(0, slot.held - self._small)
        self._large.pop(slot, None)
        slot.held = 0

    def _close_oldest(self) -> bool:
        for state in ("incomplete", "idle"):
            for slot in self._slots[state]:
                self._abort(slot)
                return True
        return False

    def _abort(self, slot: Slot) -> None:
        # The transport reports that it is closed only in the next iteration of the loop.
        self.remove(slot)
        slot.abort()

    def _shed_oldest(self, newcomer: Slot) -> bool:
        for slot in self._large:
            if slot is not newcomer and slot.state == "incomplete":
                slot.release()
                slot.shed()
                return True
        return False
