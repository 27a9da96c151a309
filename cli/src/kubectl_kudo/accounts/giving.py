"""Gives an account the rights that plans need, with the rights of the user.

Everything is tried with dry runs first: who may not give the rights changes nothing.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from kubectl_kudo.accounts.objects import Document, Owner, documents_of
from kubectl_kudo.session.cells import printable
from kubectl_kudo.session.errors import CliError, ExitCode, describe
from kubectl_kudo.session.kinds import FIELD_MANAGER
from kubectl_kudo.session.output import JsonObject, warn
from kubectl_kudo.session.report import Report
from kubectl_kudo.session.session import Session
from kubeio.errors import ApiError, Conflict, NotFound
from kubeio.kinds import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS, SERVICE_ACCOUNTS
from kubeio.resource import Resource
from kudo.permissions import Rights, described, escalations

_SHOWN = 3
"""Sources of a right that an error names."""
_BINDINGS = frozenset({ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS})


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
            if there is not None and document.kind is SERVICE_ACCOUNTS:
                continue
            try:
                made = await self.session.writes.apply(document.kind, document.object)
            except ApiError as error:
                await self.undo()
                raise self._refused(document, error) from error
            if there is None:
                self._created.append((document.kind, made))
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
        except (CliError, ApiError):
            await self.undo()
            raise

    async def undo(self) -> None:
        """Delete what this call created, and give Roles the rules back that they had."""
        if self.session.report.dry:
            return
        while self._replaced:
            await self._restore(*self._replaced.pop())
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

    async def _restore(self, document: Document, before: JsonObject, made: JsonObject) -> None:
        """Apply the former rules of a Role if nobody has changed it since.

        The Instance keeps its former version, whose plans would lack rights otherwise.
        """
        metadata = {
            **document.object["metadata"],
            "resourceVersion": made["metadata"]["resourceVersion"],
        }
        target = {**document.object, "metadata": metadata, "rules": before.get("rules") or []}
        with suppress(ApiError):  # changed by somebody else, or the user may not grant them
            await self.session.client.apply(document.kind, target, field_manager=FIELD_MANAGER)

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
    found = [] if allowed else escalations(rights)
    if not found:
        return
    head = (
        f"the plans of instance {owner.namespace}/{owner.instance} need rights with which account "
        f"{owner.account} could get more:"
    )
    lines = [printable(f"{one} ({', '.join(one.rule.sources[:_SHOWN])})", 500) for one in found]
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
