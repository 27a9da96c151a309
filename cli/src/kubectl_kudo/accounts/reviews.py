"""Asks the API server what an account may do, with SubjectAccessReviews of the user.

Who may create them in a namespace alone, as `admin` there may, asks LocalSubjectAccessReviews.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.output import JsonObject
from kubeio.client import Client
from kubeio.errors import Forbidden
from kubeio.resource import Resource
from kudo.permissions import Rule

_GROUP = "authorization.k8s.io"
_REVIEWS = Resource(_GROUP, "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False)
_LOCAL_REVIEWS = Resource(
    _GROUP, "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", namespaced=True
)
_AT_ONCE = 10
"""Reviews that are asked at the same time."""


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
        self._some = asyncio.Semaphore(_AT_ONCE)
        self._answers: dict[tuple[Account, Question], bool] = {}

    async def lacking(self, account: Account, questions: list[Question]) -> list[Question]:
        """Return what an account may not do.

        Raises:
            CliError: the user may not ask.
        """
        answers = await asyncio.gather(*(self.allowed(account, one) for one in questions))
        return [one for one, allowed in zip(questions, answers, strict=True) if not allowed]

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
