"""Checks the asserts of a step: objects that must match, that must not, expressions, commands."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from kubeio.errors import KubeError
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo_harness.expressions import Expressions, FailedExpression
from kudo_harness.failing.explain import explain, explain_expressions, joined
from kudo_harness.failing.failed import FailedAssert
from kudo_harness.host import Host
from kudo_harness.matching import Match, TooLargeToCompare, best_match, total_weight
from kudo_harness.planning.plan import Plan
from kudo_harness.report import Failure
from kudo_harness.running.clusters import Cluster
from kudo_harness.running.objects import selector
from kudo_harness.running.shared import Commands
from kudo_harness.suite import AssertOptions, Document, ListMatching

_MOST_EXPLAINED: Final = 5
"""Asserts of one step that are explained; each explanation reads events and owners."""
_NOTHING: Final = Match(None, (), 0)


@dataclass(slots=True)
class Round:
    """What failed in one round of checks.

    Attributes:
        asserts: Objects that do not match, or match and must not.
        expressions: CEL expressions that are not true.
        objects: The objects of expressions.
        command: The first command that failed.
    """

    asserts: list[FailedAssert] = field(default_factory=list)
    expressions: list[FailedExpression] = field(default_factory=list)
    objects: dict[str, JsonObject] = field(default_factory=dict)
    command: Failure | None = None

    @property
    def holds(self) -> bool:
        return not (self.asserts or self.expressions or self.command)


@dataclass(frozen=True, slots=True)
class Asserts:
    """The asserts of a step.

    Attributes:
        host: Describes errors and plans.
        cluster: Where the objects are.
        namespace: Of objects that name none.
        must_match: Objects that must match.
        must_not_match: Objects that must not match, or not exist.
        lists: How lists are compared.
        expressions: CEL expressions.
        options: The TestAssert.
        commands: Runs its commands.
        plan: What is done for them.
    """

    host: Host
    cluster: Cluster
    namespace: str
    must_match: tuple[Document, ...]
    must_not_match: tuple[Document, ...]
    lists: ListMatching
    expressions: Expressions
    options: AssertOptions | None
    commands: Commands
    plan: Plan

    @property
    def count(self) -> int:
        """Number of checks, as reports count them."""
        commands = len(self.options.commands) if self.options else 0
        return len(self.must_match) + len(self.must_not_match) + len(self.expressions) + commands

    async def check(self) -> Round:
        """Check everything once."""
        result = Round()
        # All are checked, also behind one that fails: a user wants to mend them together.
        for document in self.must_match:
            await self._check(document, result, forbidden=False)
        for document in self.must_not_match:
            await self._check(document, result, forbidden=True)
        if len(self.expressions):
            await self._evaluate(result)
        # Commands are the most expensive checks and may have effects.
        if self.options is not None and result.holds:
            for command in self.options.commands:
                result.command = await self.commands.run(self.plan.of_step(command), quiet=True)
                if result.command is not None:
                    break
        return result

    async def explain(self, result: Round) -> Failure:
        """Return why a round failed, the assert first that is nearest to holding."""
        # Most often what is nearest to holding is the cause, and what is absent follows from it.
        nearest_first = sorted(result.asserts, key=lambda failed: failed.weight)
        failures = [
            await explain(self.host, self.cluster.client, self.namespace, failed)
            for failed in nearest_first[:_MOST_EXPLAINED]
        ]
        if result.expressions:
            failures.append(
                await explain_expressions(
                    self.host,
                    self.cluster.client,
                    self.namespace,
                    result.expressions,
                    result.objects,
                )
            )
        if result.command is not None:
            failures.append(result.command)
        more = len(result.asserts) - _MOST_EXPLAINED
        if more > 0:
            failures.append(Failure(f"{more} more asserts of the step do not hold"))
        return joined(failures)

    async def _check(self, document: Document, result: Round, *, forbidden: bool) -> None:
        resource: Resource | None = None
        try:
            value = document.value
            resource = await self.cluster.find_kind(str(value["apiVersion"]), str(value["kind"]))
            # A kind that is not served has no objects: a step may install its CRD meanwhile.
            match = await self._match(document, resource) if resource else _NOTHING
        # A failure of this round only: the API server may answer in the next one.
        except (KubeError, TooLargeToCompare, ValueError) as error:
            text = str(error)
            result.asserts.append(FailedAssert(document, None, forbidden, text, resource))
            return
        if match.holds is forbidden:
            result.asserts.append(FailedAssert(document, match, forbidden, "", resource))

    async def _match(self, document: Document, resource: Resource) -> Match:
        """Return the object that fits best, reading page by page: a list may be large."""
        best = _NOTHING
        count = 0
        async for page in self._candidates(document, resource):
            match = best_match(document, page, self.lists)
            count += match.candidates
            if match.holds:
                return match
            if best.candidate is None or (
                total_weight(match.differences) < total_weight(best.differences)
            ):
                best = match
        return Match(best.candidate, best.differences, count)

    async def _candidates(
        self, document: Document, resource: Resource
    ) -> AsyncIterator[list[JsonObject]]:
        metadata = document.value.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        namespace = str(metadata.get("namespace") or self.namespace) if resource.namespaced else ""
        if name := metadata.get("name"):
            obj = await self.cluster.find(resource, namespace, str(name))
            if obj is not None:
                yield [obj]
            return
        labels = metadata.get("labels")
        pages = self.cluster.client.pages(
            resource,
            namespace=namespace or None,
            label_selector=selector(labels) if isinstance(labels, dict) else None,
        )
        async for page in pages:
            yield page.items

    async def _evaluate(self, result: Round) -> None:
        try:
            for ref in self.expressions.refs:
                resource = await self.cluster.find_kind(ref.api_version, ref.kind)
                if resource is None:
                    continue
                namespace = ref.namespace or self.namespace
                obj = await self.cluster.find(
                    resource, namespace if resource.namespaced else "", ref.name
                )
                # A missing object is no error here: the expression says so, by its ref.
                if obj is not None:
                    result.objects[ref.ref] = obj
        except (KubeError, ValueError) as error:
            result.command = Failure(f"{self.expressions.refs[0].place}: {error}")
            return
        result.expressions = self.expressions.evaluate(result.objects)
