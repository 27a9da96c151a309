"""Checks which rights the account of an Instance lacks.

The API server is asked with SubjectAccessReviews of the user. Who may not create those, but may
create reviews in a namespace, as `admin` there may, asks LocalSubjectAccessReviews.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, product

from kubectl_kudo.accounts.actors import Accounts, Reconciler
from kubectl_kudo.accounts.rights import NewVersions, RightsInCluster, Versions
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.errors import CliError, ExitCode, describe
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.client import Client
from kubeio.errors import Forbidden, NotFound
from kubeio.names import is_subdomain
from kubeio.resource import SERVICE_ACCOUNTS, Resource
from kudo.admission.tenancy import is_granted, is_reserved
from kudo.api import Instance
from kudo.api.names import ANNOTATION_ALLOW_FROM
from kudo.permissions.model import Rule

_GROUP = "authorization.k8s.io"
_REVIEWS = Resource(_GROUP, "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False)
_LOCAL_REVIEWS = Resource(
    _GROUP, "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", namespaced=True
)
_AT_ONCE = 10
"""Reviews that are asked at the same time."""
_LONGEST = 200
_MOST_QUESTIONS = 2000
_IMPERSONATE = (
    ("impersonate", ""),
    # Kubernetes 1.36 and later.
    ("impersonate:serviceaccount", "authentication.k8s.io"),
)
"""Verbs and groups of which one is enough."""
_NOT_IMPERSONATED = "impersonation: KUDO may not act as this account"


@dataclass(frozen=True, slots=True, order=True)
class Account:
    """A ServiceAccount."""

    namespace: str
    name: str

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def groups(self) -> list[str]:
        """The groups that the API server adds."""
        everywhere = "system:serviceaccounts"
        return [everywhere, f"{everywhere}:{self.namespace}", "system:authenticated"]


@dataclass(frozen=True, slots=True)
class Question:
    """One request that an account may or may not send.

    Attributes:
        namespace: Where; empty for the whole cluster.
        resource: Plural, with a subresource behind a slash.
        name: The only object; empty for all.
        url: Path that is no resource; then group, resource and name are empty.
    """

    namespace: str
    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""

    @property
    def target(self) -> str:
        """What the verb is about, as kubectl writes it."""
        if self.url:
            return self.url
        group = f".{self.group}" if self.group else ""
        name = f" {self.name}" if self.name else ""
        return f"{self.resource}{group}{name}" + ("" if self.namespace else " (cluster)")

    def to_wire(self) -> JsonObject:
        if self.url:
            return {"nonResourceAttributes": {"verb": self.verb, "path": self.url}}
        resource, _, subresource = self.resource.partition("/")
        fields = {
            "namespace": self.namespace,
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "name": self.name,
        }
        return {"resourceAttributes": {key: value for key, value in fields.items() if value}}


def questions_of(rule: Rule, namespace: str) -> Iterator[Question]:
    """Yield the questions that a rule stands for.

    Args:
        rule: The rule.
        namespace: Where it has to hold; empty for the whole cluster.
    """
    for url, verb in product(rule.urls, rule.verbs):
        yield Question("", verb, url=url)
    names = rule.names or ("",)
    for group, resource, name, verb in product(rule.groups, rule.resources, names, rule.verbs):
        yield Question(namespace, verb, group, resource, name)


class Reviews:
    """Asks each question about an account once, a few at a time.

    Args:
        client: The connection of the user.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        # Each question is a request, and API servers limit those of a user.
        self._some = asyncio.Semaphore(_AT_ONCE)
        self._answers: dict[tuple[Account, Question], bool] = {}

    async def lacking(self, account: Account, questions: list[Question]) -> list[Question]:
        """Return what an account may not do.

        Raises:
            CliError: the user may not ask.
        """
        answers = await asyncio.gather(*(self.allowed(account, each) for each in questions))
        return [each for each, allowed in zip(questions, answers, strict=True) if not allowed]

    async def allowed(self, account: Account, question: Question) -> bool:
        """Return whether an account may do something.

        Raises:
            CliError: the user may not ask.
        """
        key = account, question
        if key not in self._answers:
            async with self._some:
                self._answers[key] = await self._ask(account, question)
        return self._answers[key]

    async def _ask(self, account: Account, question: Question) -> bool:
        spec = {"user": account.user, "groups": account.groups, **question.to_wire()}
        try:
            return await self._answer(_REVIEWS, spec, None)
        except Forbidden as error:
            # Only in a namespace an admin of it may ask.
            if not question.namespace:
                raise _may_not_ask(_REVIEWS, "in the cluster") from error
        try:
            return await self._answer(_LOCAL_REVIEWS, spec, question.namespace)
        except Forbidden as error:
            raise _may_not_ask(_LOCAL_REVIEWS, f"in namespace {question.namespace}") from error

    async def _answer(self, kind: Resource, spec: JsonObject, namespace: str | None) -> bool:
        where = {"metadata": {"namespace": namespace}} if namespace else {}
        review = {"apiVersion": kind.api_version, "kind": kind.kind, **where, "spec": spec}
        answer = await self._client.create(kind, review)
        return bool((answer.get("status") or {}).get("allowed"))


def _may_not_ask(kind: Resource, where: str) -> CliError:
    return CliError(
        f"you may not ask what other accounts may do: you lack the right to create {kind.name} "
        f"{where}; a cluster administrator has it",
        code=ExitCode.DENIED,
    )


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

    @property
    def lacks_impersonation(self) -> bool:
        return any(text.startswith(_NOT_IMPERSONATED) for text in self.lacks)

    def to_data(self) -> JsonObject:
        return {
            "namespace": self.namespace,
            "instance": self.instance,
            "serviceAccountName": self.account,
            "lacks": self.lacks,
            "notes": self.notes,
        }


@dataclass(frozen=True, slots=True)
class Checker:
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
    def of(cls, session: Session, kudo: Reconciler, account: str) -> "Checker":
        client, versions = session.client, Versions(session.client)
        rights = RightsInCluster(client, versions)
        return cls(session, versions, rights, Accounts(client), Reviews(client), kudo, account)

    async def check(self, instance: Instance, new_versions: NewVersions) -> Finding:
        """Return what an Instance lacks.

        Args:
            instance: The Instance, which may not exist yet.
            new_versions: OperatorVersions that are not in the cluster yet.
        """
        metadata = instance.metadata
        account = Account(metadata.namespace, self.account or await self.accounts.of(instance))
        finding = Finding(metadata.namespace, metadata.name, account.name)
        # An account that cannot exist is neither read nor asked about.
        if self.check_form(account, finding):
            try:
                await self.session.client.get(
                    SERVICE_ACCOUNTS, account.name, namespace=account.namespace
                )
            except NotFound:
                finding.lack(f"service account {account.name}: it does not exist")
            # Reading accounts is another right than reviewing them, so the check goes on.
            except Forbidden:
                finding.notes.append("you may not read its account, which may not exist")
            await self.check_impersonation(account, finding)
        try:
            await self._check_version(instance, new_versions, account, finding)
        except Forbidden as error:
            finding.lack(f"an operatorversion that you may read: {describe(error)}")
        return finding

    async def _check_version(
        self, instance: Instance, new_versions: NewVersions, account: Account, finding: Finding
    ) -> None:
        key = instance.operator_version_key
        owner, name = key
        wire = await self.versions.wire(key)
        annotations = (wire or {"metadata": {}})["metadata"].get("annotations")
        if wire is not None and not is_granted(annotations, owner, finding.namespace):
            finding.lack(
                f"a grant: operatorversion {owner}/{name} has no annotation "
                f"{ANNOTATION_ALLOW_FROM} for namespace {finding.namespace}"
            )
        # First what is about to be installed: the cluster may have that name with other content.
        version = new_versions.get(key) or await self.versions.find(key)
        if version is None:
            finding.lack("its operatorversion: " + printable("/".join(key)))
            return
        rights = await self.rights.of(version, instance, new_versions)
        finding.notes += rights.notes
        questions = (
            question
            for rules, place in ((rights.namespaced, account.namespace), (rights.cluster, ""))
            for rule in rules
            for question in questions_of(rule, place)
        )
        # Each is a request, and who writes the package decides how many there are.
        asked = [*islice(questions, _MOST_QUESTIONS)]
        if len(asked) == _MOST_QUESTIONS:
            finding.notes.append(f"only the first {_MOST_QUESTIONS} rights were checked")
        verbs: dict[str, list[str]] = {}
        # Verbs of the same kind share a line, as in a Role.
        for question in await self.reviews.lacking(account, asked):
            verbs.setdefault(question.target, []).append(question.verb)
        for target, missing in verbs.items():
            finding.lack(f"{','.join(missing)} {target}")

    def check_form(self, account: Account, finding: Finding) -> bool:
        """Check that KUDO acts as accounts of the namespace, and that there can be such an account.

        Returns:
            Whether that is so.
        """
        if is_reserved(account.namespace, self.kudo.namespace):
            finding.lack(
                f"a namespace where KUDO acts as accounts: {account.namespace} is reserved"
            )
            return False
        if not is_subdomain(account.name):
            finding.lack(f"service account {account.name}: none can have this name")
            return False
        return True

    async def check_impersonation(self, account: Account, finding: Finding) -> None:
        """Check that the reconciler may act as an account."""
        reconciler = Account(self.kudo.namespace, self.kudo.account)
        # One of them is enough, so the check ends at the first that is allowed.
        for verb, group in _IMPERSONATE:
            asked = Question(account.namespace, verb, group, "serviceaccounts", account.name)
            if await self.reviews.allowed(reconciler, asked):
                return
        finding.lack(f"{_NOT_IMPERSONATED} (kubectl kudo rbac -n {account.namespace})")
