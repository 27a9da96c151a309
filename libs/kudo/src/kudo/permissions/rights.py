"""The rules that allow what the tasks of an Instance send.

| Action | Namespaced | Cluster-scoped |
|---|---|---|
| Apply | create, get, patch | and list: the Instance is removed from the sharers at its end |
| Delete | delete, get | and patch, for an object that another Instance shares |
| Toggle | create, delete, get, patch | and list |
| deleted with the Instance | create, get, patch | create, delete, get, list, patch |
| pruned | create, delete, get, patch | and list |
| Read | get | get |

Server-side apply is a patch, and a create where the object does not exist.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from kudo.api.task_kinds.kind import Action
from kudo.objects.removed_apis.catalogue import REMOVED, Moved
from kudo.permissions.kinds import built_in, guessed
from kudo.permissions.model import Kind, Lookup, Needs, Rights, Rule, Served

# Verbs on namespaced and on cluster-scoped kinds.
_VERBS: Final[dict[Action, tuple[str, str]]] = {
    Action.APPLY: ("create get patch", "create get list patch"),
    Action.DELETE: ("delete get", "delete get patch"),
    Action.TOGGLE: ("create delete get patch", "create delete get list patch"),
    Action.OWN: ("create get patch", "create delete get list patch"),
    Action.PRUNE: ("create delete get patch", "create delete get list patch"),
    Action.READ: ("get", "get"),
}
# Whether it is namespaced, group, plural and names.
_Key = tuple[bool, str, str, tuple[str, ...]]


def successor(kind: Kind) -> Kind | None:
    """Return the kind that an object is applied as where its version was removed."""
    fate = REMOVED.get(kind)
    return Kind(fate.api_version, kind.kind) if isinstance(fate, Moved) else None


def rights_of(needs: Needs, served: Lookup) -> Rights:
    """Return the rights for what an Instance needs.

    Args:
        needs: What its tasks send.
        served: Kinds that were looked up. Others come from the templates' own CRDs, from the table
            of built-in kinds, or are guessed, with a note.
    """
    notes = dict(needs.notes)
    verbs: dict[_Key, dict[str, None]] = {}
    sources: dict[_Key, dict[str, None]] = {}
    for need in needs.needs:
        resource = _resource(need.kind, needs, served)
        if resource.guess:
            notes[
                f"{need.kind} was not found: that its resource is {resource.plural} and namespaced "
                "is a guess; check it with kubectl api-resources"
            ] = None
        key = (resource.namespaced, resource.group, resource.plural, need.names)
        chosen = _VERBS[need.action][0 if resource.namespaced else 1]
        verbs.setdefault(key, {}).update(dict.fromkeys(chosen.split()))
        sources.setdefault(key, {})[need.source] = None
    rules = {
        key: Rule(tuple(sorted(chosen)), (key[1],), (key[2],), key[3], sources=tuple(sources[key]))
        for key, chosen in verbs.items()
    }
    return Rights(
        tuple(_merged([*_necessary(rules, namespaced=True), *needs.namespaced])),
        tuple(_merged([*_necessary(rules, namespaced=False), *needs.cluster])),
        tuple(notes),
    )


def _resource(kind: Kind, needs: Needs, served: Lookup) -> Served:
    modern = successor(kind)
    # Templates may name a version that the cluster no longer serves.
    for candidate in filter(None, (kind, modern)):
        if candidate in served:
            return served[candidate]
    defined = needs.defined.get((kind.group, kind.kind)) or built_in(modern or kind)
    return defined or guessed(kind)


def _necessary(rules: dict[_Key, Rule], *, namespaced: bool) -> Iterator[Rule]:
    """Yield the rules of a scope; of those with names, what no rule without names allows."""
    for key in sorted(rules):
        rule = rules[key]
        if key[0] is not namespaced:
            continue
        whole = rules.get((*key[:3], ())) if key[3] else None
        left = tuple(verb for verb in rule.verbs if whole is None or verb not in whole.verbs)
        if left:
            yield replace(rule, verbs=left)


def _merged(rules: Iterable[Rule]) -> Iterator[Rule]:
    """Yield each rule once, with all of its sources."""
    merged: dict[Rule, dict[str, None]] = {}
    for rule in rules:
        merged.setdefault(replace(rule, sources=()), {}).update(dict.fromkeys(rule.sources))
    for rule, sources in merged.items():
        yield replace(rule, sources=tuple(sources))
