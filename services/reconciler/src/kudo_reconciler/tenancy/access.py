"""Asks the API server whether an account may get objects of a kind in a namespace.

What comes out of a cache was read with the reconciler's rights. It is used for a task, or told in a
status, only if the account may read it itself. The question is a SelfSubjectAccessReview that is
sent as the account, so nothing is decided here.

Invariants: an answer is used for `KEPT_SECONDS`; a failed review is never kept; at most `MOST`
answers are in memory; the reconciler itself is never asked about.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from kubeio.client import Client
from kubeio.connection.identity import Identity
from kubeio.errors import KubeError, TooManyRequests
from kubeio.leader_election.elector import NotLeading
from kubeio.resource import Resource
from kubeio.types import Json, JsonObject

KEPT_SECONDS: Final = 60.0
MOST: Final = 4096
_REVIEWS: Final = Resource(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)
_Question = tuple[Identity | None, str, str, str]
"""Who; the group and the plural of the kind; the namespace, empty for all of them."""


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
        question = client.identity, resource.group, resource.plural, namespace or ""
        until, answer = self._answers.get(question, (0.0, False))
        if self._clock() < until:
            self._answers.move_to_end(question)
            return answer
        # Whoever is cancelled leaves the others their answer.
        return await asyncio.shield(self._task(client, question))

    def _task(self, client: Client, question: _Question) -> asyncio.Task[bool]:
        """Return the request in flight for a question, sent if there is none."""
        known = self._asked.get(question)
        if known is not None:
            return known
        task = asyncio.create_task(self._review(client, question), name="access review")
        self._asked[question] = task
        task.add_done_callback(lambda done: self._ended(question, done))
        return task

    async def _review(self, client: Client, question: _Question) -> bool:
        # The age counts from before the request: the rights may change while it is under way.
        asked_at = self._clock()
        allowed = _is_allowed(await client.create(_REVIEWS, _body(question)))
        self._answers[question] = asked_at + KEPT_SECONDS, allowed
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
        body = _body((client.identity, resource.group, resource.plural, namespace or ""), verb)
        try:
            if _is_allowed(await client.create(_REVIEWS, body)):
                return True
        except (NotLeading, TooManyRequests):
            raise
        except KubeError:
            return True
    return False


def _body(question: _Question, verb: str = "get") -> JsonObject:
    _, group, plural, namespace = question
    attributes = {"verb": verb, "group": group, "resource": plural, "namespace": namespace}
    return {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "spec": {"resourceAttributes": attributes},
    }


def _is_allowed(answer: JsonObject) -> bool:
    status: Json = answer.get("status")
    # Anything but a plain yes is a no.
    return isinstance(status, dict) and status.get("allowed") is True
