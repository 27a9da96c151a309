"""Requests that the API server has answered, by verb and resource, as it counts them itself.

`apiserver_request_total` counts every client, the controllers of Kubernetes and the bench included,
so a bench looks at the resources that it writes, and takes off what it sent itself. Watches are
counted when they end.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

READS: Final = frozenset({"GET", "LIST"})
_LINE: Final = re.compile(
    r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.MULTILINE
)
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True, order=True)
class Request:
    """A kind of request.

    Attributes:
        verb: As the API server names it: GET, LIST, POST, APPLY, PATCH, PUT, DELETE, and so on.
        resource: Plural name, with the subresource behind a slash.
    """

    verb: str
    resource: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """How many requests of each kind were answered, whatever the status."""

    counts: Mapping[Request, int]

    @classmethod
    def parse(cls, metrics: str) -> Self:
        """Read the text of the API server's /metrics."""
        counts = Counter[Request]()
        for line in _LINE.finditer(metrics):
            labels = dict(_LABEL.findall(line["labels"]))
            if labels["resource"]:
                counts[_request(labels)] += int(float(line["value"]))
        return cls(counts)

    def since(self, before: "RequestCounts") -> "RequestCounts":
        """Return what was answered after an earlier reading."""
        grown = {kind: n - before.counts.get(kind, 0) for kind, n in self.counts.items()}
        return RequestCounts({kind: n for kind, n in grown.items() if n})

    def of(self, resources: Iterable[str]) -> "RequestCounts":
        """Return the requests for some resources and their subresources; watches are left out."""
        desired = frozenset(resources)
        found = {
            kind: n
            for kind, n in self.counts.items()
            if kind.resource.partition("/")[0] in desired and kind.verb != "WATCH"
        }
        return RequestCounts(found)

    def without(self, sent: Mapping[Request, int]) -> "RequestCounts":
        """Return what is left without the requests that the bench sent itself."""
        left = {kind: n - sent.get(kind, 0) for kind, n in self.counts.items()}
        return RequestCounts({kind: n for kind, n in left.items() if n})

    def total(self, verbs: Iterable[str]) -> int:
        desired = frozenset(verbs)
        return sum(n for kind, n in self.counts.items() if kind.verb in desired)

    def each(self, objects: int) -> Iterator[str]:
        """Yield how many requests of each kind one object costs, the most frequent first."""
        for kind, n in sorted(self.counts.items(), key=lambda item: (-item[1], item[0])):
            yield f"{n / objects:.2f} {kind}"


def _request(labels: Mapping[str, str]) -> Request:
    subresource = labels["subresource"]
    resource = labels["resource"]
    return Request(labels["verb"], f"{resource}/{subresource}" if subresource else resource)
