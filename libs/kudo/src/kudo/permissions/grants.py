"""The rights that an account needs to hand out rights: the API server lets nobody grant more."""

from collections.abc import Iterator
from typing import Final

from kudo.api import JsonObject
from kudo.permissions.model import Needs, Rule
from kudo.permissions.texts import plain

RBAC: Final = "rbac.authorization.k8s.io"
_ROLES: Final = {"Role": "roles", "ClusterRole": "clusterroles"}
_BINDINGS: Final = frozenset({"RoleBinding", "ClusterRoleBinding"})
_LISTS: Final = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
_ANY: Final = "*"
_MOST: Final = 500
"""Rules of one Role, and texts in one of their lists."""
_LONGEST: Final = 253


def add_grants(obj: JsonObject, source: str, needs: Needs) -> None:
    """Add what applying a Role or a binding needs beside the right to write it."""
    kind = str(obj["kind"])
    if _group(obj) != RBAC:
        return
    what = f"{plain(kind)} {plain(str(obj['metadata']['name']))}"
    if kind in _ROLES:
        _add_role(obj, what, source, needs)
    elif kind in _BINDINGS:
        _add_binding(obj, what, source, needs)


def _add_role(obj: JsonObject, what: str, source: str, needs: Needs) -> None:
    if obj.get("aggregationRule"):
        needs.note(
            f"{source}: {what} is aggregated; to write it, the account needs all rights (*), which "
            "are not in this list"
        )
    rules = [*_rules(obj, f"{source}, {what}", needs)]
    cluster = obj["kind"] == "ClusterRole"
    (needs.cluster if cluster else needs.namespaced).extend(rules)
    for rule in rules:
        if _ANY in (*rule.verbs, *rule.groups, *rule.resources, *rule.urls):
            where = "in all namespaces" if cluster else "in the namespace"
            needs.note(
                f"{source}: {what} has a rule with *, and so the account must hold it {where}: "
                f"verbs {_texts(rule.verbs)}, resources {_texts(rule.resources or rule.urls)}, "
                f"groups {_texts(rule.groups)}"
            )


def _rules(obj: JsonObject, source: str, needs: Needs) -> Iterator[Rule]:
    found = obj.get("rules") or []
    if not isinstance(found, list) or len(found) > _MOST:
        needs.note(f"{source}: its rules cannot be read, and are not in this list")
        return
    for number, wire in enumerate(found, 1):
        rule = _rule(wire, source)
        if rule is None:
            needs.note(f"{source}: rule {number} cannot be read, and is not in this list")
        else:
            yield rule


def _rule(wire: object, source: str) -> Rule | None:
    if not isinstance(wire, dict) or not all(_is_texts(wire.get(key) or []) for key in _LISTS):
        return None
    verbs, groups, resources, names, urls = (tuple(wire.get(key) or ()) for key in _LISTS)
    return Rule(verbs, groups, resources, names, urls, (source,)) if verbs else None


def _is_texts(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= _MOST
        and all(isinstance(text, str) and len(text) <= _LONGEST for text in value)
    )


def _add_binding(obj: JsonObject, what: str, source: str, needs: Needs) -> None:
    reference = obj.get("roleRef")
    kind, name = (
        (reference.get("kind"), reference.get("name")) if isinstance(reference, dict) else ("", "")
    )
    plural = _ROLES.get(kind) if isinstance(kind, str) else None
    if plural is None or not _is_texts([name]):
        needs.note(f"{source}: the roleRef of {what} cannot be read; its right is not in this list")
        return
    rule = Rule(("bind",), (RBAC,), (plural,), (str(name),), sources=(f"{source}, {what}",))
    (needs.namespaced if obj["kind"] == "RoleBinding" else needs.cluster).append(rule)


def _group(obj: JsonObject) -> str:
    group, slash, _ = str(obj["apiVersion"]).partition("/")
    return group if slash else ""


def _texts(values: tuple[str, ...]) -> str:
    return plain(",".join(value or '""' for value in values) or "none")
