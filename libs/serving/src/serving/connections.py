"""The limits of a port, and its connections that have sent something, with the bodies they hold.

If there are too many connections, the oldest one with an incomplete request is closed, then the one
that has been idle for longest. A client that opens many connections thus closes its own, while the
API server, which sends whole requests at once, is answered. A complete request is always answered.
`serving.listener` bounds connections that have sent nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Reason = Literal[
    "answer_timeout",
    "bad_request",
    "body_timeout",
    "handshake_failed",
    "handshake_timeout",
    "head_timeout",
    "head_too_large",
    "request_too_large",
    "too_many_bytes",
    "too_many_connections",
    "too_many_silent",
]
"""Why a port closed a connection."""


@dataclass(frozen=True, slots=True)
class PortLimits:
    """The limits of a port. Times are in seconds, sizes in bytes.

    Each time is for the whole part, so that sending a byte now and then does not extend it.

    Attributes:
        handshake: From the connection to its first byte, and from there to the end of the TLS
            handshake.
        head: From the first byte of a request to the end of its head.
        body: From the end of the head to the last byte of the body.
        answer: For which a client may leave its answer unread.
        idle: Between two requests, and before the first byte where there is no TLS. 120 is longer
            than the 90 after which Go's clients drop an idle connection, so that we never close
            one just as the API server sends a request on it.
        linger: For a client to read its answer and close, before the connection is cut.
        silent: Open at a time that have sent nothing. They take little but a file descriptor. At
            3,000 new ones a second, each has a third of a second for its first byte.
        connections: Open at a time that have sent something, those in the TLS handshake among them.
        head_bytes: Of request line and headers, each with 32 more for what keeps it.
        request_bytes: Of one request as it is sent, chunk headers and trailers among them.
        held_bytes: Of the bodies of all requests that are not answered yet.
    """

    handshake: float = 5.0
    head: float = 5.0
    body: float = 5.0
    answer: float = 10.0
    idle: float = 120.0
    linger: float = 1.0
    silent: int = 1024
    connections: int = 256
    head_bytes: int = 32 * 1024
    request_bytes: int = 8 * 1024 * 1024
    held_bytes: int = 32 * 1024 * 1024

    @property
    def small(self) -> int:
        """Bytes of each body that always have room: half of `held_bytes`, shared by connections."""
        return self.held_bytes // 2 // self.connections


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer of the port, in place of the app's.

    Attributes:
        reason: For metrics.
        status: HTTP status.
        text: For people; plain text.
        retry: Seconds after which the client may try again; 0 if it should not.
    """

    reason: Reason
    status: int
    text: str
    retry: int = 0

    def answer(self) -> bytes:
        """Return the whole HTTP response; the connection is closed after it."""
        retry = f"retry-after: {self.retry}\r\n" if self.retry else ""
        head = (
            f"HTTP/1.1 {self.status} {_PHRASES[self.status]}\r\n"
            "content-type: text/plain; charset=utf-8\r\n"
            f"content-length: {len(self.text)}\r\n{retry}connection: close\r\n\r\n"
        )
        return (head + self.text).encode("ascii")


_PHRASES = {
    400: "Bad Request",
    408: "Request Timeout",
    413: "Content Too Large",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}

BAD_REQUEST = Refusal("bad_request", 400, "this is no HTTP request\n")
HEAD_TIMEOUT = Refusal("head_timeout", 408, "the headers did not arrive in time\n")
BODY_TIMEOUT = Refusal("body_timeout", 408, "the body did not arrive in time\n")
HEAD_TOO_LARGE = Refusal("head_too_large", 431, "the headers are too large\n")
REQUEST_TOO_LARGE = Refusal("request_too_large", 413, "the request is too large\n")
TOO_MANY_BYTES = Refusal(
    "too_many_bytes", 503, "too many large requests at the same time; try again\n", retry=1
)

PROBES = PortLimits(connections=64, request_bytes=64 * 1024, held_bytes=1024 * 1024)
"""The limits of the port of probes and metrics."""


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
