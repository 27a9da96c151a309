"""The faults, and the rules that say where each of them strikes.

A rule strikes exactly once: at the first write with its label in its namespace, or at the first
watch event of its kind there. Dropping begins with the first write of the run, since a client
cannot know of a change that it is never told of; and it goes on until the rule is withdrawn, since
one lost event may be made good by the next. That a rule struck is on record: a fault that never
came proves nothing.

A lasting fault strikes at every request of one verb and resource, until it is taken back.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

WATCH = "watch "
"""What the labels of watch events begin with; the resource follows."""


class Fault(StrEnum):
    """What goes wrong."""

    KILL_BEFORE = "killed before"
    """SIGKILL when the write arrives; it is not forwarded."""
    KILL_AFTER = "killed after"
    """SIGKILL when the write is done, before its answer."""
    CONFLICT = "409"
    THROTTLED = "429"
    ERROR = "500"
    RESET_BEFORE = "reset before"
    RESET_AFTER = "reset after"
    """The write is done, and the connection breaks before its answer."""
    HANG = "hang"
    """The write is neither forwarded nor answered."""
    LATE = "late"
    """The write is not answered, and arrives when the plan has ended without it."""
    PAUSED_BEFORE = "paused before"
    """SIGSTOP for the leader when the write arrives. When another leader works on the plan, the
    write goes on its way, and SIGCONT follows."""
    PAUSED_AFTER = "paused after"
    """The same, but the write is done at once, and its answer waits."""
    PAUSED_LATE = "paused, late"
    """As `paused before`, but write and SIGCONT wait until the plan has ended."""
    DROPPED = "events dropped"
    GONE = "410"
    STALE = "stale list"
    """410, and the LIST that follows is answered as it was before."""
    STALE_START = "killed, stale list"
    """SIGKILL after the write; the next process sees Instances as the last one found them."""
    SILENT = "silent watch"

    # In memory only, where time is simulated.
    EVENTS_20_MS = "events 20 ms late"
    EVENTS_2_S = "events 2 s late"
    EVENTS_60_S = "events 60 s late"
    DUPLICATED = "events twice"
    REORDERED = "events reordered"
    """Each event takes a time of its own; those of one kind keep their order."""
    ANSWER_20_MS = "answer 20 ms late"
    ANSWER_2_S = "answer 2 s late"
    """The write is done at once."""
    DELETED = "deleted after"
    """Its user deletes the Instance when the write is done, before its answer."""
    DELETED_20_MS = "deleted after, events 20 ms late"
    DELETED_2_S = "deleted after, events 2 s late"


REFUSALS = (Fault.CONFLICT, Fault.THROTTLED, Fault.ERROR)
NETWORK = (Fault.RESET_BEFORE, Fault.RESET_AFTER, Fault.HANG, Fault.LATE)
KILLS = (Fault.KILL_BEFORE, Fault.KILL_AFTER)
WATCHES = (Fault.DROPPED, Fault.GONE, Fault.STALE, Fault.SILENT)
DELAYS: Final = {Fault.EVENTS_20_MS: 0.02, Fault.EVENTS_2_S: 2.0, Fault.EVENTS_60_S: 60.0}
"""Seconds that events are late."""
ANSWERS: Final = {Fault.ANSWER_20_MS: 0.02, Fault.ANSWER_2_S: 2.0}
"""Seconds that an answer is late."""
DELETIONS: Final = {Fault.DELETED: 0.0, Fault.DELETED_20_MS: 0.02, Fault.DELETED_2_S: 2.0}
"""Seconds that events of Instances are late."""
LATENESS = (*DELAYS, Fault.DUPLICATED, Fault.REORDERED, *ANSWERS)
_ALL_EVENTS = (Fault.DROPPED, Fault.DUPLICATED, *DELAYS)
"""Faults of each event of a kind, not only of the first."""
LEADERS = (Fault.PAUSED_BEFORE, Fault.PAUSED_AFTER, Fault.PAUSED_LATE)


@dataclass
class Rule:
    """One fault at one place.

    Attributes:
        namespace: Where it strikes.
        label: Of a write, or `watch <resource>`.
        fault: What happens.
        struck: How often it happened.
    """

    namespace: str
    label: str
    fault: Fault
    struck: int = 0

    def meets(self, label: str, *, begun: bool) -> bool:
        """Return whether the rule strikes at what comes by, and count it.

        Args:
            label: What comes by.
            begun: Whether the run has written anything yet.
        """
        due = not self.struck or self.fault in _ALL_EVENTS
        if self.fault is Fault.DROPPED:
            due = begun
        strikes = due and label == self.label
        self.struck += strikes
        return strikes


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests that a lasting fault strikes at.

    Attributes:
        verb: `list`, `create` or `exec`.
        resource: plural.group.
    """

    verb: str
    resource: str


@dataclass
class Lasting:
    """A fault that strikes at every such request, in all namespaces.

    Attributes:
        fault: A refusal, or HANG.
        struck: How often it happened.
    """

    fault: Fault
    struck: int = 0


@dataclass
class Rules:
    """The rules in force, one a namespace, and what came by."""

    _armed: dict[str, Rule] = field(default_factory=dict)
    _seen: dict[str, Counter[str]] = field(default_factory=dict)
    _lasting: dict[Requests, Lasting] = field(default_factory=dict)

    @contextmanager
    def lasting(self, requests: Requests, fault: Fault) -> Iterator[Lasting]:
        """Have a fault strike for the block at all requests of a kind."""
        lasting = self._lasting[requests] = Lasting(fault)
        try:
            yield lasting
        finally:
            del self._lasting[requests]

    def strike_lasting(self, requests: Requests) -> Fault | None:
        """Return the lasting fault that strikes at a request, and count it."""
        lasting = self._lasting.get(requests)
        if lasting is None:
            return None
        lasting.struck += 1
        return lasting.fault

    def arm(self, namespace: str, rule: Rule | None) -> None:
        """Put a rule in force, or none, and begin to count what comes by."""
        self._seen[namespace] = Counter()
        if rule is None:
            self._armed.pop(namespace, None)
        else:
            self._armed[namespace] = rule

    def armed(self, namespace: str) -> Rule | None:
        """Return the rule in force."""
        return self._armed.get(namespace)

    def withdraw(self, namespace: str) -> Counter[str]:
        """Put no rule in force any more; return how often each label came by."""
        self._armed.pop(namespace, None)
        return self._seen.pop(namespace, Counter())

    def strike(self, namespace: str, label: str) -> Rule | None:
        """Take note of a write or watch event; return the rule that strikes at it."""
        seen = self._seen.get(namespace)
        if seen is None:
            return None
        seen[label] += 1
        rule = self._armed.get(namespace)
        begun = any(not known.startswith(WATCH) for known in seen)
        return rule if rule is not None and rule.meets(label, begun=begun) else None
