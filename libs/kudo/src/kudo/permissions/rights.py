"""The rules that allow what the tasks of an Instance send, and the rights that hand out rights.

| Action | Namespaced | Cluster-scoped |
|---|---|---|
| Apply | create, get, patch | and list: the Instance is removed from the sharers at its end |
| Delete | delete, get | and patch, for an object that another Instance shares |
| Toggle | create, delete, get, patch | and list |
| deleted with the Instance | create, get, patch | create, delete, get, list, patch |
| pruned | create, delete, get, patch | and list |
| Read | get | get |
| List | list | list |
| Run, of Jobs | create, delete, get, list | |

Server-side apply is a patch, and a create where the object does not exist.

`add_grants`: what an account needs to apply Roles and bindings, since the API server lets nobody
grant more than they have. `escalations`: what who hands out rights has to know of them.

| Right | Its holder could |
|---|---|
| `*` as a verb, group, resource or URL | do what nobody has listed |
| `bind`, `escalate`, `impersonate` and its constrained forms | take the rights of others |
| writes to RBAC | keep and hand on what it may do |
| writes to webhooks, admission policies, CRDs, API services | change what others write |
| to approve or sign certificates, to create tokens of accounts | act as others |
| proxies of nodes; in all namespaces Secrets, commands in pods, what runs pods | act as others |

In its own namespace an account that runs pods has the rights of the accounts there anyway:
`docs/tenancy.md` says so.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kudo.api import JsonObject
from kudo.api.task_kinds.kind import Action
from kudo.objects.removed_apis.catalogue import REMOVED, Moved
from kudo.permissions.kinds import built_in, guessed
from kudo.permissions.model import Kind, Lookup, Needs, Rights, Rule, Served, plain

RBAC: Final = "rbac.authorization.k8s.io"
_ROLES: Final = {"Role": "roles", "ClusterRole": "clusterroles"}
_BINDINGS: Final = frozenset({"RoleBinding", "ClusterRoleBinding"})
_LISTS: Final = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
_ANY: Final = "*"
# Rules of one Role, and texts in one of their lists.
_MOST: Final = 500
_LONGEST: Final = 253


def add_grants(obj: JsonObject, source: str, needs: Needs) -> None:
    """Add what applying a Role or a binding needs beside the right to write it."""
    kind = str(obj["kind"])
    if str(obj["apiVersion"]).rpartition("/")[0] != RBAC:
        return
    what = f"{plain(kind)} {plain(str(obj['metadata']['name']))}"
    if kind in _ROLES:
        _add_role(obj, what, source, needs)
    elif kind in _BINDINGS:
        _add_binding(obj, what, source, needs)


def _add_role(obj: JsonObject, what: str, source: str, needs: Needs) -> None:
    # Its rules are those of all roles that it selects, now and later.
    if obj.get("aggregationRule"):
        needs.note(
            f"{source}: {what} is aggregated; to write it, the account needs all rights (*), which "
            "are not in this list"
        )
    rules: list[Rule] = []
    listed = obj.get("rules") or []
    if not isinstance(listed, list) or len(listed) > _MOST:
        needs.note(f"{source}, {what}: its rules cannot be read, and are not in this list")
        listed = []
    for number, wire in enumerate(listed, 1):
        readable = isinstance(wire, dict) and all(_is_texts(wire.get(key) or []) for key in _LISTS)
        if not readable or not wire.get("verbs"):
            text = f"rule {number} cannot be read, and is not in this list"
            needs.note(f"{source}, {what}: {text}")
        else:
            verbs, groups, resources, named, urls = (tuple(wire.get(key) or ()) for key in _LISTS)
            rules.append(Rule(verbs, groups, resources, named, urls, (f"{source}, {what}",)))
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
    # `bind` on this role alone: with all of its rules the account would hold what it only hands on.
    rule = Rule(("bind",), (RBAC,), (plural,), (str(name),), sources=(f"{source}, {what}",))
    (needs.namespaced if obj["kind"] == "RoleBinding" else needs.cluster).append(rule)


def _texts(values: tuple[str, ...]) -> str:
    return plain(",".join(value or '""' for value in values) or "none")


_READS: Final = frozenset({"get", "list", "watch"})
_OF_OTHERS: Final = ("bind", "escalate", "impersonate")
# Groups of which every write counts.
_WRITTEN: Final = {
    RBAC: "write roles or bindings",
    "admissionregistration.k8s.io": "change or see what others write, by webhooks and policies",
    "apiextensions.k8s.io": "change how objects of others are converted, by CRDs",
    "apiregistration.k8s.io": "answer for the API server, by API services",
}
_ANYWHERE: Final = {
    ("", "serviceaccounts/token"): "act as other accounts, by tokens",
    ("", "nodes/proxy"): "run commands in all pods of a node",
    (
        "certificates.k8s.io",
        "certificatesigningrequests/approval",
    ): "act as others, by certificates",
    ("certificates.k8s.io", "signers"): "act as others, by certificates",
}
_COMMANDS: Final = frozenset(
    {"pods/attach", "pods/ephemeralcontainers", "pods/exec", "pods/portforward", "pods/proxy"}
)
# What runs pods, by group.
_PODS: Final = {
    "": frozenset({"pods", "replicationcontrollers"}),
    "apps": frozenset({"daemonsets", "deployments", "replicasets", "statefulsets"}),
    "batch": frozenset({"cronjobs", "jobs"}),
}


@dataclass(frozen=True, slots=True)
class Escalation:
    """A rule that lets its holder get more.

    Attributes:
        rule: The rule.
        cluster: Whether it holds in the whole cluster, and not in one namespace alone.
        could: What its holder could do.
    """

    rule: Rule
    cluster: bool
    could: str

    def __str__(self) -> str:
        return f"{described(self.rule, cluster=self.cluster)}: could {self.could}"


def escalations(rights: Rights) -> list[Escalation]:
    """Return the rules of rights that let their holder get more, those of the cluster first."""
    return [
        Escalation(rule, cluster, could)
        for cluster, rules in ((True, rights.cluster), (False, rights.namespaced))
        for rule in rules
        if (could := "; ".join(dict.fromkeys(_reasons(rule, cluster=cluster))))
    ]


def described(rule: Rule, *, cluster: bool) -> str:
    """Return a rule in one line, such as `get, patch deployments.apps in the namespace`."""
    groups = rule.groups or ("",)
    what = [f"{each}.{group}" if group else each for group in groups for each in rule.resources]
    names = f" named {', '.join(rule.names)}" if rule.names else ""
    where = "in the whole cluster" if cluster else "in the namespace"
    return f"{', '.join(rule.verbs)} {', '.join((*what, *rule.urls))}{names} {where}"


def _reasons(rule: Rule, *, cluster: bool) -> Iterator[str]:
    """Yield what the holder of a rule could do beyond it."""
    urls = any(_ANY in url for url in rule.urls)
    if urls or any(_ANY in text for text in (*rule.verbs, *rule.groups, *rule.resources)):
        yield "do what nobody has listed"
    taken = [verb for verb in rule.verbs if verb.partition(":")[0] in _OF_OTHERS]
    if taken:
        yield f"take the rights of others, by {', '.join(taken)}"
    writes = not _READS.issuperset(rule.verbs)
    for group in rule.groups:
        if writes and group in _WRITTEN and not taken:
            yield _WRITTEN[group]
        for resource in rule.resources:
            if reason := _ANYWHERE.get((group, resource)):
                yield reason
            if not cluster:
                # In one namespace these reach no further than running a pod there does.
                continue
            if not group and resource == "secrets":
                yield "use the Secrets of all namespaces"
            if not group and resource in _COMMANDS:
                yield "run commands in pods of all namespaces"
            if writes and resource in _PODS.get(group, ()):
                yield "run pods as any account of any namespace"


# Verbs on namespaced and on cluster-scoped kinds.
_VERBS: Final[dict[Action, tuple[str, str]]] = {
    Action.APPLY: ("create get patch", "create get list patch"),
    Action.DELETE: ("delete get", "delete get patch"),
    Action.TOGGLE: ("create delete get patch", "create delete get list patch"),
    Action.OWN: ("create get patch", "create delete get list patch"),
    Action.PRUNE: ("create delete get patch", "create delete get list patch"),
    Action.READ: ("get", "get"),
    Action.LIST: ("list", "list"),
    Action.RUN: ("create delete get list", "create delete get list"),
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
