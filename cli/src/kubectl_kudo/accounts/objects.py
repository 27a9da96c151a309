"""The ServiceAccount, Roles and bindings that give an Instance's account its rights.

As text they are YAML with comments that say what needs each rule.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

from kubectl_kudo.accounts.actors import Reconciler
from kubectl_kudo.accounts.names import cluster_role_name, role_name
from kubectl_kudo.session.cells import printable
from kubectl_kudo.session.output import JsonObject
from kubeio.kinds import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
)
from kubeio.resource import Resource
from kudo.admission.tenancy import DEFAULT_ACCOUNT
from kudo.packages.readable_yaml import dump
from kudo.permissions import Rights, Rule

_MOST_SOURCES = 10
_LONGEST = 500
_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Owner:
    """An Instance, which may not exist yet, and the account that it acts as."""

    namespace: str
    instance: str
    account: str

    @property
    def subject(self) -> JsonObject:
        return {"kind": "ServiceAccount", "name": self.account, "namespace": self.namespace}


@dataclass(frozen=True, slots=True)
class Document:
    """An object to apply.

    Attributes:
        kind: Its kind.
        object: The object; one of a Role has its rules.
        rules: The same rules, with what needs them.
        comments: What it is for, one line each.
    """

    kind: Resource
    object: JsonObject
    rules: tuple[Rule, ...] = ()
    comments: tuple[str, ...] = ()


def documents_of(owner: Owner, rights: Rights) -> list[Document]:
    """Return what gives an account the rights, in the order in which it can be applied.

    The account `default` exists in every namespace, so there is no document for it.
    """
    found = []
    if owner.account != DEFAULT_ACCOUNT:
        found.append(Document(SERVICE_ACCOUNTS, _object(SERVICE_ACCOUNTS, owner.account, owner)))
    if rights.namespaced:
        found += _pair(ROLES, ROLE_BINDINGS, role_name(owner.instance), rights.namespaced, owner)
    if rights.cluster:
        comments = ("These rights hold in the whole cluster. An administrator has to apply them.",)
        name = cluster_role_name(owner.namespace, owner.instance)
        found += _pair(CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, name, rights.cluster, owner, comments)
    return found


def impersonator(namespace: str, reconciler: Reconciler) -> Document:
    """Return the RoleBinding that lets the reconciler act as the accounts of a namespace."""
    account, place = reconciler.account, reconciler.namespace
    name = "kudo-impersonator"
    obj = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": ROLE_BINDINGS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": _RBAC, "kind": CLUSTER_ROLES.kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": place}],
    }
    comments = (f"KUDO may act as each service account of namespace {namespace}.",)
    return Document(ROLE_BINDINGS, obj, comments=comments)


def _pair(
    role: Resource,
    binding: Resource,
    name: str,
    rules: Sequence[Rule],
    owner: Owner,
    comments: tuple[str, ...] = (),
) -> list[Document]:
    wire = [rule.to_wire() for rule in rules]
    head = f"What the plans of instance {owner.namespace}/{owner.instance} need."
    bound = {
        **_object(binding, name, owner),
        "roleRef": {"apiGroup": _RBAC, "kind": role.kind, "name": name},
        "subjects": [owner.subject],
    }
    return [
        Document(
            role, {**_object(role, name, owner), "rules": wire}, tuple(rules), (head, *comments)
        ),
        Document(binding, bound),
    ]


def _object(kind: Resource, name: str, owner: Owner) -> JsonObject:
    where = {"namespace": owner.namespace} if kind.namespaced else {}
    metadata = {"name": name, **where}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def text_of(documents: Iterable[Document], notes: Iterable[str] = ()) -> str:
    """Return a stream of YAML documents; the notes are comments above them."""
    head = "".join(f"# Note: {printable(note, _LONGEST)}\n" for note in notes)
    return head + "".join(map(_document, documents))


def _document(document: Document) -> str:
    comments = "".join(f"# {printable(text, _LONGEST)}\n" for text in document.comments)
    rest = {key: value for key, value in document.object.items() if key != "rules"}
    rules = "".join(map(_rule, document.rules))
    return f"---\n{comments}{dump(rest)}" + (f"rules:\n{rules}" if rules else "")


def _rule(rule: Rule) -> str:
    # Texts of packages are in comments, too: `printable` keeps each in one line.
    comments = "".join(f"  # {printable(text, _LONGEST)}\n" for text in _sources(rule))
    # A list of JSON is one of YAML, and takes one line.
    fields = (f"{key}: {json.dumps(values)}" for key, values in rule.to_wire().items())
    return comments + "".join(map("{}{}\n".format, chain(["  - "], repeat("    ")), fields))


def _sources(rule: Rule) -> Iterator[str]:
    yield from rule.sources[:_MOST_SOURCES]
    more = len(rule.sources) - _MOST_SOURCES
    if more > 0:
        yield f"and {more} more"
