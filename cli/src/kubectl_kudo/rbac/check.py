"""Checks which rights the accounts of Instances lack: what would fail once KUDO is strict."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pydantic import ValidationError

from kubectl_kudo.accounts.actors import Accounts, Reconciler, reconciler_of
from kubectl_kudo.accounts.rights import RightsInCluster, Versions
from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.cells import NONE, cell, printable
from kubectl_kudo.core.errors import CliError, ExitCode, describe
from kubectl_kudo.core.kinds import INSTANCES
from kubectl_kudo.core.output import JsonObject, check_format, talk
from kubectl_kudo.core.session import Session, in_session
from kubectl_kudo.core.table import columns
from kubectl_kudo.rbac.reviews import Account, Question, Reviews, questions_of
from kubeio.errors import Forbidden, NotFound
from kubeio.kinds import SERVICE_ACCOUNTS
from kubeio.names import is_subdomain
from kudo.api import Instance
from kudo.names import ANNOTATION_ALLOW_FROM
from kudo.permissions import Rights
from kudo.readable_yaml import dump
from kudo.tenancy import is_granted, is_reserved

_HEADING = ("NAMESPACE", "INSTANCE", "ACCOUNT", "LACKS")
_LONGEST = 200
_MOST_QUESTIONS = 2000
_PROGRESS = 25
"""Instances after which a line about the progress is printed."""
_IMPERSONATE = (
    ("impersonate", ""),
    # Kubernetes 1.36 and later.
    ("impersonate:serviceaccount", "authentication.k8s.io"),
)
"""Verbs and groups of which one is enough."""


@dataclass(slots=True)
class Finding:
    """What the account of one Instance lacks.

    Attributes:
        lacks: One text for each.
        notes: What could not be found out.
    """

    namespace: str
    instance: str
    account: str
    lacks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lack(self, text: str) -> None:
        self.lacks.append(printable(text, _LONGEST))

    def to_data(self) -> JsonObject:
        return {
            "namespace": self.namespace,
            "instance": self.instance,
            "serviceAccountName": self.account,
            "lacks": self.lacks,
            "notes": self.notes,
        }


def check(args: Args) -> None:
    """Print what the accounts lack.

    Raises:
        CliError: with exit code 1, if they lack anything.
    """
    check_format(args.output)
    in_session(args, lambda session: _check(session, args))


async def _check(session: Session, args: Args) -> None:
    found = await _instances(session, args)
    own = await reconciler_of(session.client, args.kudo_namespace)
    checker = _Checker.of(session, own, args.service_account)
    findings: list[Finding] = []
    for number, wire in enumerate(found, 1):
        findings.append(await _finding(checker, wire))
        if number % _PROGRESS == 0 and number < len(found):
            talk(f"{number} of {len(found)} instances are checked")
    print(data_of(findings, args.output) if args.output else table_of(findings), end="")
    _show_notes(findings)
    wanting = sum(1 for one in findings if one.lacks)
    if wanting:
        text = f"{wanting} of {len(findings)} instances lack something"
        raise CliError(
            f"{text}; print the rights of one with: kubectl kudo rbac --instance NAME",
            code=ExitCode.TEST_FAILED,
        )


async def _finding(checker: "_Checker", wire: JsonObject) -> Finding:
    try:
        instance = Instance.from_wire(wire)
    except ValidationError:
        finding = Finding(wire["metadata"]["namespace"], wire["metadata"]["name"], "")
        finding.lack("a form that KUDO can read")
        return finding
    return await checker.check(instance)


async def _instances(session: Session, args: Args) -> list[JsonObject]:
    if args.instance:
        return [await session.existing_instance(args.instance)]
    namespace = None if args.all_namespaces else session.namespace
    return (await session.client.list(INSTANCES, namespace=namespace)).items


def _show_notes(findings: Iterable[Finding]) -> None:
    for finding in findings:
        for note in finding.notes:
            talk(f"Note on instance {finding.namespace}/{finding.instance}: {printable(note, 500)}")


@dataclass(frozen=True, slots=True)
class _Checker:
    """Checks Instances.

    Attributes:
        kudo: The reconciler.
        account: Name of the account to check instead of that of an Instance; empty for that.
    """

    session: Session
    versions: Versions
    rights: RightsInCluster
    accounts: Accounts
    reviews: Reviews
    kudo: Reconciler
    account: str

    @classmethod
    def of(cls, session: Session, kudo: Reconciler, account: str) -> "_Checker":
        client, versions = session.client, Versions(session.client)
        rights = RightsInCluster(client, versions)
        return cls(session, versions, rights, Accounts(client), Reviews(client), kudo, account)

    async def check(self, instance: Instance) -> Finding:
        """Return what an Instance lacks."""
        metadata = instance.metadata
        account = Account(metadata.namespace, self.account or await self.accounts.of(instance))
        finding = Finding(metadata.namespace, metadata.name, account.name)
        await self._check_account(account, finding)
        try:
            await self._check_version(instance, account, finding)
        except Forbidden as error:
            finding.lack(f"an operatorversion that you may read: {describe(error)}")
        return finding

    async def _check_version(self, instance: Instance, account: Account, finding: Finding) -> None:
        await self._check_reference(instance, finding)
        version = await self.versions.find(instance.operator_version_key)
        if version is None:
            finding.lack(
                "its operatorversion: " + printable("/".join(instance.operator_version_key))
            )
            return
        rights = await self.rights.of(version, instance, {})
        finding.notes += rights.notes
        await self._check_rights(account, rights, finding)

    async def _check_account(self, account: Account, finding: Finding) -> None:
        if is_reserved(account.namespace, self.kudo.namespace):
            finding.lack(
                f"a namespace where KUDO acts as accounts: {account.namespace} is reserved"
            )
            return
        if not is_subdomain(account.name):
            finding.lack(f"service account {account.name}: none can have this name")
            return
        try:
            await self.session.client.get(
                SERVICE_ACCOUNTS, account.name, namespace=account.namespace
            )
        except NotFound:
            finding.lack(f"service account {account.name}: it does not exist")
        except Forbidden:
            finding.notes.append("you may not read its account, which may not exist")
        reconciler = Account(self.kudo.namespace, self.kudo.account)
        for verb, group in _IMPERSONATE:
            asked = Question(account.namespace, verb, group, "serviceaccounts", account.name)
            if await self.reviews.allowed(reconciler, asked):
                return
        hint = f"kubectl kudo rbac -n {account.namespace}"
        finding.lack(f"impersonation: KUDO may not act as this account ({hint})")

    async def _check_reference(self, instance: Instance, finding: Finding) -> None:
        owner, name = instance.operator_version_key
        wire = await self.versions.wire((owner, name))
        annotations = (wire or {"metadata": {}})["metadata"].get("annotations")
        if wire is not None and not is_granted(annotations, owner, finding.namespace):
            finding.lack(
                f"a grant: operatorversion {owner}/{name} has no annotation "
                f"{ANNOTATION_ALLOW_FROM} for namespace {finding.namespace}"
            )

    async def _check_rights(self, account: Account, rights: Rights, finding: Finding) -> None:
        asked = [*islice(_questions(rights, account.namespace), _MOST_QUESTIONS)]
        if len(asked) == _MOST_QUESTIONS:
            finding.notes.append(f"only the first {_MOST_QUESTIONS} rights were checked")
        verbs: dict[str, list[str]] = {}
        for question in await self.reviews.lacking(account, asked):
            verbs.setdefault(question.target, []).append(question.verb)
        for target, missing in verbs.items():
            finding.lack(f"{','.join(missing)} {target}")


def _questions(rights: Rights, namespace: str) -> Iterator[Question]:
    for rule in rights.namespaced:
        yield from questions_of(rule, namespace)
    for rule in rights.cluster:
        yield from questions_of(rule, "")


def table_of(findings: Iterable[Finding]) -> str:
    """Return a table with a row for each thing that is lacking."""
    return columns([_HEADING, *_rows(findings)])


def _rows(findings: Iterable[Finding]) -> Iterator[Sequence[str]]:
    for one in findings:
        for lack in one.lacks or (NONE,):
            yield cell(one.namespace), cell(one.instance), cell(one.account), lack


def data_of(findings: Iterable[Finding], output: str) -> str:
    """Return a list of the findings in JSON or YAML."""
    data = [one.to_data() for one in findings]
    return f"{json.dumps(data, indent=2, ensure_ascii=False)}\n" if output == "json" else dump(data)
