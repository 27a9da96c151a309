"""One real deploy, and the templates of its writes: what the protocol floor sends for an Instance.

A write of the recorded deploy becomes a template: the names, uids and resourceVersions in it that
belong to the recorded Instance, or that an earlier answer gave, are left open. Everything else,
also timestamps, is sent as it was recorded.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Json = Any
Facts = dict[str, str]
"""What a template leaves open, by name; for one Instance."""

_VERSION: Final = "resourceVersion"
_NAMESPACED: Final = re.compile(
    r"/(?:api|apis/[^/]+)/[^/]+/namespaces/(?P<namespace>[^/]+)/(?P<plural>[^/]+)"
    r"(?:/(?P<name>[^/]+)(?:/(?P<subresource>.+))?)?$"
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer.

    Attributes:
        path: URL path without the query.
        query: Parameters of the URL.
        body: What was sent, decoded; None for a read.
        status: HTTP status of the answer.
        answer: What was answered, decoded.
    """

    method: str
    path: str
    query: dict[str, str]
    content_type: str
    body: Json
    status: int
    answer: Json

    @property
    def resource(self) -> str:
        """Return the plural name with the subresource, such as `instances/status`."""
        found = _NAMESPACED.match(self.path)
        if found is None:
            return self.path
        return "/".join(filter(None, (found["plural"], found["subresource"])))

    @property
    def reads(self) -> bool:
        return self.method == "GET"

    @property
    def writes(self) -> bool:
        """Whether it changed something; a dry run, or what was refused, did not."""
        return not self.reads and "dryRun" not in self.query and self.status < 300

    @property
    def verb(self) -> str:
        """Return the verb as the API server counts it."""
        if self.method == "PATCH" and "apply-patch" in self.content_type:
            return "APPLY"
        found = _NAMESPACED.match(self.path)
        return "LIST" if self.reads and found is not None and not found["name"] else self.method

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


def facts_of(created: Json) -> Facts:
    """Return what the templates leave open of an Instance, as the API server created it."""
    metadata = created["metadata"]
    return {
        "instance.namespace": metadata["namespace"],
        "instance.name": metadata["name"],
        "instance.uid": metadata["uid"],
        "instance.plan": created["spec"]["planExecution"]["uid"],
        f"instance.{_VERSION}": metadata[_VERSION],
    }


@dataclass(frozen=True, slots=True)
class Hole:
    """A text with facts in it; the parts alternate between text and names of facts."""

    parts: tuple[str, ...]

    def filled(self, facts: Mapping[str, str]) -> str:
        return "".join(facts[part] if place % 2 else part for place, part in enumerate(self.parts))


@dataclass(frozen=True, slots=True)
class Open:
    """An object or list with holes; what has none is kept as it was recorded."""

    content: Json

    def filled(self, facts: Mapping[str, str]) -> Json:
        if isinstance(self.content, dict):
            return {_fill(key, facts): _fill(value, facts) for key, value in self.content.items()}
        return [_fill(value, facts) for value in self.content]


def _fill(value: Json, facts: Mapping[str, str]) -> Json:
    return value.filled(facts) if isinstance(value, Hole | Open) else value


@dataclass(frozen=True, slots=True)
class Write:
    """A template of one write.

    Attributes:
        number: Its place in the deploy; facts of its answer are named after it.
        kept: Fields of the answer's metadata that later writes need.
    """

    number: int
    method: str
    content_type: str
    path: Hole | str
    query: dict[str, str]
    body: Hole | Open | Json
    kept: frozenset[str]

    def request(self, facts: Mapping[str, str]) -> tuple[str, Json]:
        """Return path and body for an Instance."""
        return _fill(self.path, facts), _fill(self.body, facts)

    def learn(self, answer: Json, facts: Facts) -> None:
        """Add what later writes need of the answer."""
        for field in self.kept:
            facts[f"{self.number}.{field}"] = answer["metadata"][field]


def templates(created: Json, exchanges: Sequence[Exchange]) -> list[Write]:
    """Return the templates of all writes of a recorded deploy, in the order of their arrival.

    Args:
        created: The Instance as its creation was answered.
        exchanges: What the reconciler sent for it, reads included.
    """
    known = _Known(facts_of(created))
    writes = [(number, one) for number, one in enumerate(exchanges) if one.writes]
    drafts = []
    for number, one in writes:
        drafts.append((number, one, known.text(one.path), known.value(one.body)))
        known.answered(number, one.answer)
    return [
        Write(
            number,
            one.method,
            one.content_type,
            path,
            one.query,
            body,
            frozenset(known.used.get(number, ())),
        )
        for number, one, path, body in drafts
    ]


class _Known:
    """The values of the recorded deploy that another deploy has others for."""

    def __init__(self, facts: Facts) -> None:
        self.used: dict[int, set[str]] = {}
        self._versions = {facts[f"instance.{_VERSION}"]: f"instance.{_VERSION}"}
        self._texts = {facts[name]: name for name in facts if not name.endswith(_VERSION)}

    def answered(self, number: int, answer: Json) -> None:
        metadata = answer.get("metadata", {}) if isinstance(answer, dict) else {}
        if version := metadata.get(_VERSION):
            self._versions[version] = f"{number}.{_VERSION}"
        if uid := metadata.get("uid"):
            self._texts.setdefault(uid, f"{number}.uid")

    def text(self, text: str) -> Hole | str:
        # The longest first: a name may hold another one.
        ordered = sorted(self._texts, key=len, reverse=True)
        parts = re.split(f"({'|'.join(map(re.escape, ordered))})", text)
        if len(parts) == 1:
            return text
        return Hole(
            tuple(
                self._use(self._texts[part]) if place % 2 else part
                for place, part in enumerate(parts)
            )
        )

    def value(self, value: Json, key: str = "") -> Hole | Open | Json:
        if isinstance(value, str):
            if key == _VERSION and value in self._versions:
                return Hole(("", self._use(self._versions[value]), ""))
            return self.text(value)
        if isinstance(value, dict):
            found = {self.text(k): self.value(v, _key_of(value, k)) for k, v in value.items()}
            return Open(found) if _any_open((*found, *found.values())) else value
        if isinstance(value, list):
            items = [self.value(item) for item in value]
            return Open(items) if _any_open(items) else value
        return value

    def _use(self, fact: str) -> str:
        source, _, field = fact.partition(".")
        if source != "instance":
            self.used.setdefault(int(source), set()).add(field)
        return fact


def _key_of(parent: Mapping[str, Json], key: str) -> str:
    """Return the field that a value stands for; that of a JSON Patch stands in its path."""
    pointer = parent.get("path")
    if key == "value" and "op" in parent and isinstance(pointer, str):
        return pointer.rpartition("/")[2]
    return key


def _any_open(values: Sequence[Json]) -> bool:
    return any(isinstance(value, Hole | Open) for value in values)


def told(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Yield one word for each request of a deploy, in order."""
    for one in exchanges:
        suffix = "" if one.status < 300 else f" ({one.status})"
        yield f"{one}{suffix}"
