"""What is to be on record, compared with what is.

There may be thousands of entries, so the event loop runs other tasks after some hundreds.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kudo.objects.inventory.record import Entry, Place, Record, answered, can_be_recorded, continued
from kudo_reconciler.common.pacing import paced
from kudo_reconciler.objects.run_context import Answer, RunContext


@dataclass(slots=True)
class Wanted:
    """The entries of a plan.

    Attributes:
        known: The record that they were compared with.
        recorded: Objects of which another digest alone is no reason to write.
        entries: By place, without those that cannot be recorded.
        changed: Those that `known` does not have as they are, with what it knows of their objects.
        lacking: Whether one of them is a reason to write.
        refused: Whether some cannot be recorded.
    """

    known: Record
    recorded: Collection[Place]
    entries: dict[Place, Entry] = field(default_factory=dict)
    changed: list[Entry] = field(default_factory=list)
    lacking: bool = False
    refused: bool = False

    @classmethod
    async def of(
        cls, entries: Iterable[Entry], known: Record | None, context: RunContext
    ) -> "Wanted":
        """Compare entries with a record; of several of one object the last one counts."""
        found = cls(known or Record(), context.recorded)
        namespace = context.instance.metadata.namespace
        async for entry in paced(entries):
            found.entries[entry.place] = entry
        async for entry in paced(list(found.entries.values())):
            found._compare(entry, namespace)
        return found

    @property
    def places(self) -> Iterable[Place]:
        return self.entries

    def merged(self, record: Record) -> Record:
        """Return a record with the entries; the same one if that is no reason to write."""
        if record.entries is self.known.entries:
            return record.merged(self.changed) if self.lacking else record
        # Somebody has changed it meanwhile, or a former leader did.
        entries = self.entries.values()
        if all(record.covers(entry, self.recorded) for entry in entries):
            return record
        return record.merged(entries)

    def _compare(self, entry: Entry, namespace: str) -> None:
        known = self.known.get(entry.place)
        if entry.says_as_much_as(known):
            return
        if not can_be_recorded(entry, namespace):
            self.refused = True
            del self.entries[entry.place]
            return
        self.changed.append(entry if known is None else continued(entry, known))
        self.lacking = self.lacking or not self.known.covers(entry, self.recorded)


async def covers(record: Record, entries: Iterable[Entry], recorded: Collection[Place]) -> bool:
    """Return whether a record has all entries; see `Record.covers`."""
    async for entry in paced(entries):
        if not record.covers(entry, recorded):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Answers:
    """What the answers of a run tell of its objects.

    Attributes:
        of_objects: The answers.
        made: By place an entry that was on record, and with its answer.
    """

    of_objects: Mapping[Place, Answer]
    made: Mapping[Place, tuple[Entry, Entry]]

    @classmethod
    async def of(cls, answers: Mapping[Place, Answer], record: Record | None) -> "Answers":
        """Prepare to add answers to a record, which takes most of the time."""
        made, kept = dict[Place, tuple[Entry, Entry]](), dict(answers)
        if record is not None:
            async for place in paced(kept):
                entry = record.get(place)
                if entry is not None and _tells_more(kept[place], entry):
                    made[place] = entry, _with(entry, kept[place])
        return cls(kept, made)

    def added(self, record: Record) -> Record:
        """Return a record with the answers."""
        return record.merged(self._changed(record))

    def _changed(self, record: Record) -> Iterator[Entry]:
        for place, answer in self.of_objects.items():
            entry = record.get(place)
            if entry is None or not _tells_more(answer, entry):
                continue
            before, after = self.made.get(place, (None, entry))
            yield after if before is entry else _with(entry, answer)


def _tells_more(answer: Answer, entry: Entry) -> bool:
    return (entry.uid, entry.adopted) != answer


def _with(entry: Entry, answer: Answer) -> Entry:
    return answered(entry, answer.uid, adopted=answer.adopted)
