"""Decisions that depend on values of parameters; large values are parsed by worker processes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from kudo.jobs import check as check_job
from kudo.parameters.values import Check, Checker, CheckResults
from kudo_reconciler.common.jobs import Jobs
from workers import LimitExceeded

_SECONDS: Final = 5.0
"""CPU time and wall clock for all values of one decision; the limits of YAML take less than two."""

_Decision = TypeVar("_Decision")


@dataclass(frozen=True, slots=True)
class ValueChecks:
    """Makes decisions that depend on values of parameters.

    Attributes:
        jobs: The worker processes.
        results: Cached results, so that no value is parsed at each reconcile.
    """

    jobs: Jobs
    results: CheckResults = field(default_factory=CheckResults)

    def decide_now(self, decide: Callable[[Check], _Decision]) -> _Decision | None:
        """Make a decision; None if a worker has to parse values for it."""
        checker = Checker(self.results)
        decision = decide(checker)
        return None if checker.pending else decision

    async def decide(self, tenant: str, decide: Callable[[Check], _Decision]) -> _Decision:
        """Make a decision; once more if a worker had to parse values for it.

        Args:
            tenant: Namespace of the Instance.
            decide: Makes the decision; it is given the function that checks values.

        Raises:
            workers.WorkerError: no worker was available; try again.
        """
        checker = Checker(self.results)
        decision = decide(checker)
        if not checker.pending:
            return decision
        if not checker.known_batch():
            await self._read_pending(checker, tenant)
        return decide(checker)

    async def _read_pending(self, checker: Checker, tenant: str) -> None:
        request = check_job.encode_request(checker.pending)
        try:
            answer = await self.jobs.call(
                check_job.NAME, request, tenant=tenant, cpu=_SECONDS, wall=_SECONDS
            )
        except LimitExceeded as error:
            checker.give_up(error.limit, str(error), check_job.value_at(error.at))
        else:
            checker.learn(check_job.decode_answer(answer))
