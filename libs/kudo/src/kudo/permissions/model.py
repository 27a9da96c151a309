"""What tasks send, the rules that allow it, and texts of packages as notes show them.

Such a text is one line, bounded, without control characters: anybody may have written it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kudo.api import JsonObject
from kudo.api.task_kinds.kind import Action

_LONGEST: Final = 100
_API_VERSION: Final = re.compile(r"([a-z0-9][-a-z0-9.]{0,252}/)?v[a-z0-9]{1,30}")
_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")


def plain(text: str, longest: int = _LONGEST) -> str:
    """Return the beginning of a text that anybody may have written."""
    begin = " ".join(text[: 4 * longest].split())
    line = "".join(c if c.isprintable() else "?" for c in begin)
    cut = len(line) > longest or len(text) > 4 * longest
    return f"{line[: longest - 1]}…" if cut else line


def is_kind(api_version: str, kind: str) -> bool:
    """Return whether a cluster can serve such a kind."""
    # Lengths come first: they bound how long the expressions can take.
    if len(api_version) > 300 or len(kind) > 100:
        return False
    return bool(_API_VERSION.fullmatch(api_version) and _KIND.fullmatch(kind))


_MOST_NEEDS: Final = 5000
_MOST_NOTES: Final = 500


class Kind(NamedTuple):
    """A kind as a template names it."""

    api_version: str
    kind: str

    @property
    def group(self) -> str:
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""

    def __str__(self) -> str:
        return f"{self.kind} of {self.api_version}"


@dataclass(frozen=True, slots=True)
class Need:
    """What one task does with objects of a kind.

    Attributes:
        kind: Their kind.
        action: What it does.
        source: The task and the template, for people: one line without control characters.
        names: The only objects; empty for all.
    """

    kind: Kind
    action: Action
    source: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a Role or ClusterRole.

    Attributes:
        verbs, groups, resources, names, urls: As in `rules` of RBAC.
        sources: What needs it, for people.
    """

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def to_wire(self) -> JsonObject:
        fields = {
            "apiGroups": self.groups,
            "resources": self.resources,
            "resourceNames": self.names,
            "nonResourceURLs": self.urls,
            "verbs": self.verbs,
        }
        return {name: list(values) for name, values in fields.items() if values}


@dataclass(slots=True)
class Needs:
    """What the plans of an Instance send.

    Attributes:
        needs: By kind, each once.
        namespaced: Rules that are known already, in the namespace of the Instance.
        cluster: The same for the whole cluster.
        defined: Kinds that CustomResourceDefinitions of the templates define.
        notes: What is not known, or dangerous; one line each.
    """

    needs: dict[Need, None] = field(default_factory=dict)
    namespaced: list[Rule] = field(default_factory=list)
    cluster: list[Rule] = field(default_factory=list)
    defined: dict[tuple[str, str], "Served"] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def kinds(self) -> list[Kind]:
        """Return the kinds, each once, in the order of their first need."""
        return list(dict.fromkeys(need.kind for need in self.needs))

    def add(self, need: Need) -> None:
        """Add a need, unless there are too many: a template may name a kind for each object."""
        if len(self.needs) < _MOST_NEEDS:
            self.needs[need] = None
        else:
            # Noted once: notes are keys.
            self.note(f"more than {_MOST_NEEDS} needs: not all are in this list")

    def note(self, text: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes[text] = None
        else:
            self.notes["there are more notes than these"] = None


@dataclass(frozen=True, slots=True)
class Served:
    """How the API server serves a kind.

    Attributes:
        group: Its API group.
        plural: Its resource.
        namespaced: Its scope.
        guess: Whether it was not looked up.
    """

    group: str
    plural: str
    namespaced: bool
    guess: bool = False


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights that an account needs.

    Attributes:
        namespaced: Rules in the namespace of the Instance.
        cluster: Rules in the whole cluster.
        notes: What is not known, or dangerous; one line each.
    """

    namespaced: tuple[Rule, ...]
    cluster: tuple[Rule, ...]
    notes: tuple[str, ...]


Lookup = Mapping[Kind, Served]
