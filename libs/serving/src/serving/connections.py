"""The connections of a port, and the bytes of bodies that they hold: counted and bounded.

Where there are too many, the oldest one whose request is incomplete is closed, then the one that
has been idle for longest: whoever opens many connections closes their own, and the API server,
which sends a request at once and whole, gets in. A request that is complete is always answered.
"""

from collections.abc import Callable
from typing import Literal

from serving.limits import PortLimits, Reason

_State = Literal["incomplete", "idle", "busy"]


class Slot:
    """The place of one connection; `incomplete` from the start.

    Attributes:
        held: Bytes of its body that are kept.
    """

    __slots__ = ("_connections", "abort", "held", "shed", "state")

    def __init__(self, connections: "Connections", abort: Callable[[], None]) -> None:
        self._connections, self.abort = connections, abort
        self.state: _State = "incomplete"
        self.held = 0
        self.shed: Callable[[], None] = abort
        """Refuses the body that it holds; called for bodies that are incomplete."""

    def enter(self, state: _State) -> None:
        """Say what the connection does: waits between requests, sends one, or waits for us."""
        if state != self.state:
            self._connections.move(self, state)

    def hold(self, size: int) -> bool:
        """Keep so many more bytes of the body; return whether there is room for them."""
        return self._connections.hold(self, size)

    def release(self) -> None:
        """The body is not kept any more."""
        if self.held:
            self._connections.release(self)

    def close(self) -> None:
        """The connection has ended; may be called again."""
        self._connections.remove(self)


class Connections:
    """All connections of a port.

    Attributes:
        limits: What they may take.
        held: Bytes of bodies that are kept now.
        observe: Told why a connection is closed by us.
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

    def admit(self, abort: Callable[[], None]) -> Slot | None:
        """Return a place for a new connection, if need be that of another one.

        Args:
            abort: Ends the connection at once.

        Returns:
            None if all connections wait for our answers: close the new one.
        """
        if len(self) >= self.limits.connections:
            self.observe("too_many_connections")
            if not self._close_oldest():
                return None
        slot = Slot(self, abort)
        self._slots["incomplete"][slot] = None
        return slot

    def abort_all(self) -> None:
        """Close every connection at once."""
        for slots in self._slots.values():
            for slot in list(slots):
                self._abort(slot)

    def move(self, slot: Slot, state: _State) -> None:
        """Put a connection last among those of the state."""
        slots = self._slots[slot.state]
        if slot in slots:
            del slots[slot]
            slot.state = state
            self._slots[state][slot] = None

    def remove(self, slot: Slot) -> None:
        """Give up the place of a connection, and what it holds."""
        slot.release()
        self._slots[slot.state].pop(slot, None)

    def hold(self, slot: Slot, size: int) -> bool:
        """Keep more bytes for a connection; False if there is no room.

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
        """Forget what a connection holds."""
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
        # The transport says only at the next turn of the loop that it is closed.
        self.remove(slot)
        slot.abort()

    def _shed_oldest(self, newcomer: Slot) -> bool:
        for slot in self._large:
            if slot is not newcomer and slot.state == "incomplete":
                slot.release()
                slot.shed()
                return True
        return False
