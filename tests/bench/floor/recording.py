"""One real run, and the templates of its writes: what the protocol floor sends for an Instance.

A write of the recorded run becomes a template: the names, uids and resourceVersions in it that
belong to the recorded Instance, or that an earlier answer gave, are left open. Everything else,
also timestamps, is sent as it was recorded.

A write may need the resourceVersion or uid of an object that stood before, which the reconciler
read or knew from its caches. Reading it is no part of the floor: it is read before.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
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
    def found(self) -> bool:
        """Whether it read something."""
        return self.reads and self.status < 300

    @property
    def verb(self) -> str:
        """Return the verb as the API server counts it."""
        if self.method == "PATCH" and "apply-patch" in self.content_type:
            return "APPLY"
        found = _NAMESPACED.match(self.path)
        return "LIST" if self.reads and found is not None and not found["name"] else self.method

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


def facts_of(instance: Json) -> Facts:
    """Return what the templates leave open of an Instance, as the API server answered it.

    The uid of the run is among them if one is scheduled: a cleanup gets its uid later.
    """
    metadata = instance["metadata"]
    scheduled = instance["spec"].get("planExecution") or {}
    run = {"instance.run": scheduled["uid"]} if "uid" in scheduled else {}
    return {
        "instance.namespace": metadata["namespace"],
        "instance.name": metadata["name"],
        "instance.uid": metadata["uid"],
        "instance.uid8": metadata["uid"][:8],  # of the name of its Inventory
        f"instance.{_VERSION}": metadata[_VERSION],
        **run,
    }


def facts_before(namespace: str, name: str) -> Facts:
    """Return what is known of an Instance before the request for its run."""
    return {"instance.namespace": namespace, "instance.name": name}


def key_of(facts: Facts) -> tuple[str, str]:
    """Return namespace and name of an Instance."""
    return facts["instance.namespace"], facts["instance.name"]


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
class Template:
    """A template of one request.

    Attributes:
        number: Its place in the run; facts of its answer are named after it.
        kept: Fields of the answer's metadata that later requests need.
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


@dataclass(frozen=True, slots=True)
class Templates:
    """Those of one run.

    Attributes:
        before: Reads of what stood before and a write needs.
        writes: All writes, in the order of their arrival.
    """

    before: list[Template]
    writes: list[Template]


def templates(instance: Json, exchanges: Sequence[Exchange]) -> Templates:
    """Return the templates of a recorded run.

    Args:
        instance: The Instance as the request for the run was answered.
        exchanges: What the reconciler sent for it, reads included.
    """
    known = _Known(facts_of(instance))
    drafts = []
    for number, one in enumerate(_with_lookups(instance, exchanges)):
        if one.writes or one.found:
            drafts.append((number, one, known.text(one.path), known.value(one.body)))
            known.answered(number, one.answer)
    # What is needed of an answer is known only after the last request.
    made = [
        Template(number, one.method, one.content_type, path, one.query, body, known.used(number))
        for number, one, path, body in drafts
    ]
    return Templates(
        before=[one for one in made if one.method == "GET" and one.kept],
        writes=[one for one in made if one.method != "GET"],
    )


def _with_lookups(instance: Json, exchanges: Sequence[Exchange]) -> Iterator[Exchange]:
    """Yield a read before each write that expects what nothing has told yet."""
    seen = set(_identity(instance).values())
    for one in exchanges:
        # What created its object expected none: such a resourceVersion is sent as it is.
        if one.writes and one.status != HTTPStatus.CREATED:
            expected = one.body if isinstance(one.body, dict) else {}
            named = _identity({"metadata": expected.get("preconditions", expected.get("metadata"))})
            unknown = {field: value for field, value in named.items() if value not in seen}
            if unknown:
                seen.update(unknown.values())
                answer = {"metadata": unknown}
                yield replace(one, method="GET", query={}, body=None, status=200, answer=answer)
        yield one
        seen.update(_identity(one.answer).values())


def _identity(obj: Json) -> dict[str, str]:
    """Return uid and resourceVersion of an object, as far as it has them."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    fields = ("uid", _VERSION)
    return {field: metadata[field] for field in fields if metadata and metadata.get(field)}


class _Known:
    """The values of the recorded run that another run has others for."""

    def __init__(self, facts: Facts) -> None:
        self._used: dict[int, set[str]] = {}
        self._versions = {facts[f"instance.{_VERSION}"]: f"instance.{_VERSION}"}
        self._texts = {facts[name]: name for name in facts if not name.endswith(_VERSION)}

    def answered(self, number: int, answer: Json) -> None:
        found = _identity(answer)
        if _VERSION in found:
            self._versions.setdefault(found[_VERSION], f"{number}.{_VERSION}")
        if "uid" in found:
            self._texts.setdefault(found["uid"], f"{number}.uid")

    def used(self, number: int) -> frozenset[str]:
        """Return the fields of an answer that were needed."""
        return frozenset(self._used.get(number, ()))

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
            self._used.setdefault(int(source), set()).add(field)
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
    """Yield one word for each request of a run, in order."""
    for one in exchanges:
        suffix = "" if one.status < 300 else f" ({one.status})"
        yield f"{one}{suffix}"
