"""Asks the API server whether an account may get, or apply, objects of a kind in a namespace.

What comes out of a cache was read with the reconciler's rights. It is used for a task, or told in a
status, only if the account may read it itself. So are records written with them, and only for an
account that may apply what begins the task. The question is a SelfSubjectAccessReview that is sent
as the account, so nothing is decided here.

Invariants: an answer is used for `KEPT_SECONDS`; that an account may apply a kind, for
`APPLIES_SECONDS`; that it may not, once. A failed review is never kept; at most `MOST` answers are
in memory; the reconciler itself is never asked about.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from kubeio.client import Client
from kubeio.connection.auth import Identity
from kubeio.errors import Forbidden, KubeError, TooManyRequests
from kubeio.leader_election.elector import NotLeading
from kubeio.resource import Resource
from kubeio.types import Json, JsonObject

KEPT_SECONDS: Final = 60.0
APPLIES_SECONDS: Final = 3600.0
"""For which an account counts as one that may apply a kind: no Instance pays for the question. With
a right that was taken away meanwhile, a record is written too many, and nothing is applied."""
MOST: Final = 4096
_REVIEWS: Final = Resource(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)
_APPLY: Final = "patch"
_IMPERSONATION: Final = "impersonate"
"""Word in the API server's message that nobody may act as an account."""


class _Question(NamedTuple):
    """What is asked.

    Attributes:
        identity: Who.
        group, plural: The kind.
        namespace: Empty for all of them, and for a cluster-scoped kind.
        verb: Of the request.
        name: Of the object; empty for all of them.
    """

    identity: Identity | None
    group: str
    plural: str
    namespace: str
    verb: str = "get"
    name: str = ""


class AccessReviews:
    """The answers to access reviews.

    Args:
        clock: Monotonic seconds.
        most: How many answers are kept.
    """

    def __init__(self, clock: Callable[[], float], *, most: int = MOST) -> None:
        self._clock = clock
        self._most = most
        self._answers: OrderedDict[_Question, tuple[float, bool]] = OrderedDict()
        self._asked: dict[_Question, asyncio.Task[bool]] = {}

    def __len__(self) -> int:
        return len(self._answers)

    async def may_get(self, client: Client, resource: Resource, namespace: str | None) -> bool:
        """Return whether the identity of a client may get every object of a kind in a namespace.

        A review that fails means that it may not, this time: the caller then reads as the account.

        Args:
            client: A view that acts as the account; without an identity the answer is True.
            resource: The kind.
            namespace: None for a cluster-scoped kind.

        Raises:
            NotLeading: this replica is not the leader any more.
        """
        try:
            return await self.ask(client, resource, namespace)
        except NotLeading:
            raise
        except KubeError:
            return False

    async def ask(self, client: Client, resource: Resource, namespace: str | None) -> bool:
        """Return the same, or raise what made the review fail.

        Raises:
            KubeError: the review failed; Forbidden if nobody may act as the account.
            NotLeading: this replica is not the leader any more.
        """
        if client.identity is None:
            return True
        return await self._ask(client, _question(client, resource, namespace))

    async def check_apply(
        self, client: Client, resource: Resource, namespace: str | None, name: str
    ) -> None:
        """Check whether the identity of a client may apply an object, before anything is sent.

        A review that fails says nothing: the apply itself will. Nothing is asked about the
        reconciler's own identity.

        Raises:
            Forbidden: it may not, with the words of the API server; or nobody may act as it.
            NotLeading: this replica is not the leader any more.
        """
        identity = client.identity
        if identity is None:
            return
        kind = _question(client, resource, namespace)._replace(verb=_APPLY)
        try:
            # A right on all objects first: its answer serves others of the kind, too.
            if await self._ask(client, kind) or await self._ask(client, kind._replace(name=name)):
                return
        except NotLeading:
            raise
        except KubeError as error:
            if isinstance(error, Forbidden) and _IMPERSONATION in error.message:
                raise
            return
        where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        raise Forbidden(
            f'{resource.name} "{name}" is forbidden: User "{identity.user}" cannot patch resource '
            f'"{resource.plural}" in API group "{resource.group}" {where}',
            status=403,
        )

    async def _ask(self, client: Client, question: _Question) -> bool:
        until, answer = self._answers.get(question, (0.0, False))
        if self._clock() < until:
            self._answers.move_to_end(question)
            return answer
        # Whoever is cancelled leaves the others their answer.
        return await asyncio.shield(self._task(client, question))

    def _task(self, client: Client, question: _Question) -> asyncio.Task[bool]:
        """Return the request in flight for a question, sent if there is none."""
        task = self._asked.get(question)
        if task is not None:
            return task
        task = asyncio.create_task(self._review(client, question), name="access review")
        self._asked[question] = task
        task.add_done_callback(lambda done: self._ended(question, done))
        return task

    async def _review(self, client: Client, question: _Question) -> bool:
        # The age counts from before the request: the rights may change while it is under way.
        asked_at = self._clock()
        allowed = _is_allowed(await client.create(_REVIEWS, _body(question)))
        seconds = KEPT_SECONDS
        if question.verb == _APPLY:
            # Whoever waits for a right goes on as soon as it is granted.
            seconds = APPLIES_SECONDS if allowed else 0.0
        self._answers[question] = asked_at + seconds, allowed
        self._answers.move_to_end(question)
        if len(self._answers) > self._most:
            self._answers.popitem(last=False)
        return allowed

    def _ended(self, question: _Question, task: asyncio.Task[bool]) -> None:
        del self._asked[question]
        if not task.cancelled():
            # Everybody who waited may have been cancelled: then nobody retrieves the error.
            task.exception()


async def may_apply(client: Client, resource: Resource, namespace: str | None) -> bool:
    """Return whether the identity of a client may apply objects of a kind in a namespace.

    True also if it may do so with objects that exist, or if the review fails. Of a right that names
    objects nothing is known. Nothing is kept: this is asked about rarely, and of many kinds.

    Args:
        client: Of the account; without an identity the question is about the reconciler.
        resource: The kind.
        namespace: None for a cluster-scoped kind.

    Raises:
        NotLeading: this replica is not the leader any more.
        TooManyRequests: the API server is busy.
    """
    for verb in ("create", "patch"):
        question = _question(client, resource, namespace)._replace(verb=verb)
        try:
            if _is_allowed(await client.create(_REVIEWS, _body(question))):
                return True
        except (NotLeading, TooManyRequests):
            raise
        except KubeError:
            return True
    return False


def _question(client: Client, resource: Resource, namespace: str | None) -> _Question:
    return _Question(client.identity, resource.group, resource.plural, namespace or "")


def _body(question: _Question) -> JsonObject:
    attributes = {
        "verb": question.verb,
        "group": question.group,
        "resource": question.plural,
        "namespace": question.namespace,
        **({"name": question.name} if question.name else {}),
    }
    return {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "spec": {"resourceAttributes": attributes},
    }


def _is_allowed(answer: JsonObject) -> bool:
    status: Json = answer.get("status")
    # Anything but a plain yes is a no.
    return isinstance(status, dict) and status.get("allowed") is True
