"""The ServiceAccount, Roles and bindings that give an account its rights: as YAML, or applied.

As text they have comments that say what needs each rule. They are applied with the rights of the
user, after dry runs of all of them: who may not give the rights changes nothing.
"""

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, repeat

from kubectl_kudo.accounts.actors import Reconciler, cluster_role_name, role_name
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.errors import CliError, ExitCode, describe
from kubectl_kudo.session.kinds import FIELD_MANAGER
from kubectl_kudo.session.output import JsonObject, Report, warn
from kubectl_kudo.session.session import Session
from kubeio.errors import ApiError, Conflict, NotFound
from kubeio.resource import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    Resource,
)
from kudo.admission.tenancy import DEFAULT_ACCOUNT
from kudo.packages.readable_yaml import dump
from kudo.permissions.model import Rights, Rule
from kudo.permissions.rights import described, escalations

_MOST_SOURCES = 10
_LONGEST = 500
_RBAC = "rbac.authorization.k8s.io"
_SHOWN = 3
"""Sources of a right that an error names."""
_BINDINGS = frozenset({ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS})


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
    documents = []
    # First what the others name: a binding of an account that does not exist gives nothing.
    if owner.account != DEFAULT_ACCOUNT:
        account = _object(SERVICE_ACCOUNTS, owner.account, owner)
        documents.append(Document(SERVICE_ACCOUNTS, account))
    if rights.namespaced:
        name = role_name(owner.instance)
        documents += _pair(ROLES, ROLE_BINDINGS, name, rights.namespaced, owner)
    if rights.cluster:
        comments = ("These rights hold in the whole cluster. An administrator has to apply them.",)
        name = cluster_role_name(owner.namespace, owner.instance)
        documents += _pair(
            CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, name, rights.cluster, owner, comments
        )
    return documents


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
    text = "".join(f"# Note: {printable(note, _LONGEST)}\n" for note in notes)
    for document in documents:
        comments = "".join(f"# {printable(text, _LONGEST)}\n" for text in document.comments)
        # Rules are written line by line below, since comments stand between them.
        rest = {key: value for key, value in document.object.items() if key != "rules"}
        rules = "".join(map(_rule, document.rules))
        text += f"---\n{comments}{dump(rest)}" + (f"rules:\n{rules}" if rules else "")
    return text


def _rule(rule: Rule) -> str:
    sources = [*rule.sources[:_MOST_SOURCES]]
    if len(rule.sources) > _MOST_SOURCES:
        sources.append(f"and {len(rule.sources) - _MOST_SOURCES} more")
    # Texts of packages are in comments, too: `printable` keeps each in one line.
    comments = "".join(f"  # {printable(source, _LONGEST)}\n" for source in sources)
    # A list of JSON is one of YAML, and takes one line.
    fields = (f"{key}: {json.dumps(values)}" for key, values in rule.to_wire().items())
    return comments + "".join(map("{}{}\n".format, chain(["  - "], repeat("    ")), fields))


@dataclass(slots=True)
class Giving:
    """An account, its Roles and bindings, to be applied.

    Attributes:
        session: The connection.
        owner: The Instance and its account.
        documents: What to apply, in order.
    """

    session: Session
    owner: Owner
    documents: Sequence[Document]
    _created: list[tuple[Resource, JsonObject]] = field(default_factory=list)
    _replaced: list[tuple[Document, JsonObject, JsonObject]] = field(default_factory=list)

    @classmethod
    def of(
        cls, session: Session, owner: Owner, rights: Rights, *, escalation: bool = False
    ) -> "Giving":
        """Return what gives an account its rights.

        Args:
            session: The connection.
            owner: The Instance and its account.
            rights: What its plans need.
            escalation: Whether the user agrees to rights that let the account get more.

        Raises:
            CliError: the user has not agreed.
        """
        for note in rights.notes:
            warn(printable(note, 500))
        check_escalation(owner, rights, allowed=escalation)
        return cls(session, owner, documents_of(owner, rights))

    async def check(self) -> None:
        """Have the API server try all of it; a dry run does that later anyway.

        Raises:
            CliError: the user may not.
        """
        if self.session.report.dry:
            return
        for document in self.documents:
            try:
                await self.session.client.apply(
                    document.kind, document.object, field_manager=FIELD_MANAGER, dry_run=True
                )
            except NotFound:
                # Who does not hold `bind` is told that the Role of the binding does not exist yet.
                if document.kind not in _BINDINGS:
                    raise
            except ApiError as error:
                raise self._refused(document, error) from error

    async def apply(self) -> None:
        """Apply what is missing or differs.

        Raises:
            CliError: the API server denies it; what this call changed is as it was before.
        """
        for document in self.documents:
            there = await self._find(document)
            # An account that exists is left as it is: nothing of it gives rights.
            if there is not None and document.kind is SERVICE_ACCOUNTS:
                continue
            try:
                made = await self.session.writes.apply(document.kind, document.object)
            except ApiError as error:
                await self.undo()
                raise self._refused(document, error) from error
            if there is None:
                self._created.append((document.kind, made))
            # Only Roles are taken back: a binding names the same Role and account as before.
            elif made.get("rules") != there.get("rules"):
                self._replaced.append((document, there, made))
            done = "created" if there is None else "configured"
            self.session.report.done(f"{_described(document)} {done}")
            tell_rules(self.session.report, document)

    @asynccontextmanager
    async def applied(self) -> AsyncIterator[None]:
        """Apply all of it; take back what this call changed if what follows fails."""
        await self.apply()
        try:
            yield
        # Not after a lost connection or ctrl-C: the Instance may exist, and needs the rights.
        except (CliError, ApiError):
            await self.undo()
            raise

    async def undo(self) -> None:
        """Delete what this call created, and give Roles the rules back that they had."""
        if self.session.report.dry:
            return
        while self._replaced:
            # The Instance keeps its former version, whose plans would lack rights otherwise. With
            # the resourceVersion of our write: what somebody has changed since is left.
            document, before, made = self._replaced.pop()
            metadata = {
                **document.object["metadata"],
                "resourceVersion": made["metadata"]["resourceVersion"],
            }
            target = {**document.object, "metadata": metadata, "rules": before.get("rules") or []}
            with suppress(ApiError):  # changed by somebody else, or the user may not grant them
                await self.session.client.apply(document.kind, target, field_manager=FIELD_MANAGER)
        # In the reverse order of the writes: a Role goes after the binding that names it.
        while self._created:
            kind, made = self._created.pop()
            metadata = made["metadata"]
            with suppress(ApiError):  # deleted already, or the user may not delete
                await self.session.client.delete(
                    kind,
                    metadata["name"],
                    namespace=metadata.get("namespace"),
                    uid=metadata["uid"],
                )

    async def _find(self, document: Document) -> JsonObject | None:
        metadata = document.object["metadata"]
        try:
            return await self.session.client.get(
                document.kind, metadata["name"], namespace=metadata.get("namespace")
            )
        except NotFound:
            return None
        except ApiError as error:
            raise self._refused(document, error) from error

    def _refused(self, document: Document, error: ApiError) -> CliError:
        what = _described(document)
        if isinstance(error, Conflict):
            return CliError(
                f"{what} has other content, which somebody else wrote: {describe(error)}; delete "
                "it, or name another instance or account"
            )
        return CliError(
            f"you cannot give account {self.owner.account} its rights: {what}: {describe(error)}; "
            "nothing was created. Have somebody who may apply what `kubectl kudo rbac PACKAGE "
            f"--instance-name {self.owner.instance} --service-account {self.owner.account}` "
            "prints, and install with --service-account alone",
            code=ExitCode.DENIED,
        )


def check_escalation(owner: Owner, rights: Rights, *, allowed: bool) -> None:
    """Raise CliError if rights let an account get more and the user has not agreed to that."""
    # Before anything is sent: who installs a package has to have seen these.
    dangers = [] if allowed else escalations(rights)
    if not dangers:
        return
    head = (
        f"the plans of instance {owner.namespace}/{owner.instance} need rights with which account "
        f"{owner.account} could get more:"
    )
    lines = [
        printable(f"{danger} ({', '.join(danger.rule.sources[:_SHOWN])})", _LONGEST)
        for danger in dangers
    ]
    advice = (
        "nothing was changed; if you trust the package like an administrator, give them with "
        "--allow-escalation"
    )
    raise CliError("\n  ".join([head, *lines, advice]), code=ExitCode.DENIED)


def tell_rules(report: Report, document: Document) -> None:
    """Print the rights that a Role gives, a line each."""
    for rule in document.rules:
        text = described(rule, cluster=not document.kind.namespaced)
        report.say(f"  may {printable(text, 500)}")


def _described(document: Document) -> str:
    metadata = document.object["metadata"]
    where = f"{metadata['namespace']}/" if document.kind.namespaced else ""
    return f"{document.kind.kind.lower()} {where}{metadata['name']}"
