"""What a run has made, in memory and in a file: objects and process groups.

The entry of an object is written before the object is created, because a run may be killed at any
moment. An entry without uid may stand for an object that was never created, or that somebody else
created first, so such an object is never deleted. The file has one JSON object in each line and
names only: no content of any object.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kubeio.resource import Resource

NAME: Final = "record.jsonl"
_LONGEST_LINE: Final = 16 * 1024


@dataclass(slots=True)
class MadeObject:
    """An object that the run created.

    Attributes:
        number: Of the entry.
        scope: What it is deleted with: a key of a case; empty is the run.
        kubeconfig: Of the cluster.
        resource: Its kind.
        namespace: Its namespace; empty if it is cluster-scoped.
        name: Its name; empty until the API server has made one.
        uid: Its uid; empty until it was created.
    """

    number: int
    scope: str
    kubeconfig: str
    resource: Resource
    namespace: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        """Return the object as `kubectl` takes it in a command."""
        where = f" --namespace {self.namespace}" if self.namespace else ""
        return f"{self.resource.name}/{self.name}{where}"

    @property
    def is_namespace(self) -> bool:
        return (self.resource.group, self.resource.kind) == ("", "Namespace")


@dataclass(frozen=True, slots=True)
class MadeGroup:
    """A process group that the run started.

    Attributes:
        number: Of the entry.
        scope: As of an object.
        group: Its number, that of its first process.
        started: When its first process started, as the kernel counts; empty where that is not
            known. Numbers of processes are used again.
    """

    number: int
    scope: str
    group: int
    started: str


@dataclass(slots=True)
class Record:
    """Everything that a run has made and not deleted yet.

    Args:
        folder: Where the file is.

    Attributes:
        objects: Objects by the number of their entry.
        groups: Process groups by the number of their entry.
        last: The last number of an entry.
    """

    folder: Path
    objects: dict[int, MadeObject] = field(default_factory=dict)
    groups: dict[int, MadeGroup] = field(default_factory=dict)
    last: int = 0

    @classmethod
    def start(cls, folder: Path) -> "Record":
        """Begin the record of a run in this process.

        What an earlier run in the same folder has left stays recorded.

        Raises:
            ValueError: the folder has a file of that name that is no record.
        """
        record = read_record(folder).record if (folder / NAME).exists() else cls(folder)
        record.begin()
        return record

    def begin(self) -> None:
        """Note which process makes what follows."""
        self._write({"process": os.getpid(), "started": process_started(os.getpid())})

    def will_create(
        self, resource: Resource, namespace: str, name: str, *, scope: str, kubeconfig: Path
    ) -> MadeObject:
        """Note an object that is created next."""
        made = MadeObject(self._next(), scope, str(kubeconfig), resource, namespace, name)
        self.objects[made.number] = made
        self._write(
            {
                "object": made.number,
                "scope": scope,
                "kubeconfig": made.kubeconfig,
                "group": resource.group,
                "version": resource.version,
                "kind": resource.kind,
                "plural": resource.plural,
                "namespaced": resource.namespaced,
                "namespace": namespace,
                "name": name,
            }
        )
        return made

    def created(self, made: MadeObject, name: str, uid: str) -> None:
        """Note the uid of an object, once it was created."""
        made.name, made.uid = name, uid
        self._write({"created": made.number, "name": name, "uid": uid})

    def gone(self, made: MadeObject | MadeGroup) -> None:
        """Note that an object is deleted or was not created, or that a group has ended."""
        self.objects.pop(made.number, None)
        self.groups.pop(made.number, None)
        self._write({"gone": made.number})

    def started(self, group: int, *, scope: str) -> MadeGroup:
        """Note a process group right after it was started."""
        made = MadeGroup(self._next(), scope, group, process_started(group))
        self.groups[made.number] = made
        self._write(
            {"processes": made.number, "scope": scope, "id": group, "started": made.started}
        )
        return made

    def objects_of(self, scope: str | None) -> list[MadeObject]:
        """Return the objects of a scope, or all, the newest first."""
        objects = [made for made in self.objects.values() if scope is None or made.scope == scope]
        return sorted(objects, key=lambda made: -made.number)

    def groups_of(self, scope: str | None) -> list[MadeGroup]:
        """Return the process groups of a scope, or all."""
        return [group for group in self.groups.values() if scope is None or group.scope == scope]

    @property
    def is_empty(self) -> bool:
        return not (self.objects or self.groups)

    def _next(self) -> int:
        self.last += 1
        return self.last

    def _write(self, entry: dict[str, object]) -> None:
        # Opened for each line: a run writes few, and one that is killed has lost none of them.
        with (self.folder / NAME).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


@dataclass(slots=True)
class Left:
    """What the file of a record says.

    Attributes:
        record: What was not deleted.
        process: Number of the process that wrote it.
        started: When that process started.
    """

    record: Record
    process: int = 0
    started: str = ""

    @property
    def runs(self) -> bool:
        """Whether the process that wrote it still runs."""
        return self.process > 0 and is_running(self.process, self.started)


def read_record(folder: Path) -> Left:
    """Return what a run has left.

    Raises:
        FileNotFoundError: there is no record in the folder.
        ValueError: the file is not one.
    """
    left = Left(Record(folder))
    for entry in _entries(folder / NAME):
        try:
            _replay(entry, left)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{folder / NAME} is no record of a run: {error!r}") from error
    return left


def _entries(path: Path) -> Iterator[dict[str, object]]:
    with path.open(encoding="utf-8") as file:
        while line := file.readline(_LONGEST_LINE):
            if not line.endswith("\n"):
                return  # killed while it was written
            entry = json.loads(line)
            if not isinstance(entry, dict):
                raise ValueError(f"{path} is no record of a run")
            yield entry


def _replay(entry: dict[str, object], left: Left) -> None:
    record = left.record
    if "process" in entry:
        left.process, left.started = _number(entry["process"]), str(entry["started"])
    elif "object" in entry:
        number = _number(entry["object"])
        group, version, kind, plural = (
            str(entry[name]) for name in ("group", "version", "kind", "plural")
        )
        namespaced = bool(entry["namespaced"])
        resource = Resource(group, version, kind, plural, namespaced=namespaced)
        record.objects[number] = MadeObject(
            number,
            str(entry["scope"]),
            str(entry["kubeconfig"]),
            resource,
            str(entry["namespace"]),
            str(entry["name"]),
        )
        record.last = max(record.last, number)
    elif "created" in entry:
        made = record.objects[_number(entry["created"])]
        made.name, made.uid = str(entry["name"]), str(entry["uid"])
    elif "processes" in entry:
        number, started = _number(entry["processes"]), str(entry["started"])
        first = _number(entry["id"])
        record.groups[number] = MadeGroup(number, str(entry["scope"]), first, started)
        record.last = max(record.last, number)
    else:
        number = _number(entry["gone"])
        record.objects.pop(number, None)
        record.groups.pop(number, None)


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("a number is missing")
    return value


def process_started(process: int) -> str:
    """Return when a process started, as the kernel counts; empty where that is not known."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name of the program, in parentheses, may have spaces and parentheses.
    fields = text.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def is_running(process: int, started: str) -> bool:
    """Return whether this very process runs; where starts are not known, whether one does."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # It runs, as another user.
    return not started or process_started(process) == started
