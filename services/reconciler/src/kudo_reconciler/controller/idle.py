"""An Instance that has no run scheduled: does it need one, may it run, is it ready?"""

from dataclasses import dataclass
from functools import partial

from kudo.api import Instance, OperatorVersion
from kudo.conditions import Situation
from kudo.execution import ensure_entries, fail
from kudo.run_status import running, with_entries
from kudo.stored import judge_idle
from kudo_reconciler.controller.context import AGAIN_SECONDS, Result, Surroundings


@dataclass(frozen=True, slots=True)
class Idle:
    """Looks after Instances that run nothing."""

    around: Surroundings

    async def settle(self, instance: Instance, version: OperatorVersion) -> Result:
        """Schedule what nobody scheduled, or write how the Instance is.

        Raises:
            Outdated: the Instance changed since it was read.
            workers.WorkerError: no worker could read its values.
        """
        around, now = self.around, self.around.now()
        entries = ensure_entries(version.plans, instance.plan_status)
        for name, entry in running(entries).items():
            text = f"execution of plan {name} ended without a recorded result"
            entries[name] = fail(entry, text, now)
            uid = entry.uid or instance.metadata.uid
            await around.events.warning(instance, uid, "PlanResultUnknown", text)
        status = with_entries(instance.status, entries)
        verdict = await around.values.decide(
            instance.metadata.namespace, partial(judge_idle, instance, version)
        )
        if verdict.problems:
            first = verdict.problems[0]
            text = "; ".join(problem.message for problem in verdict.problems)
            occasion = f"{instance.metadata.uid}.{instance.metadata.generation}"
            await around.events.warning(instance, occasion, first.reason, text)
            await around.write_situation(instance, status, Situation((first.reason, text)))
            return Result("refused")
        if verdict.plan is not None:
            await around.instances.schedule(instance, verdict.plan, around.fresh_uid())
            return Result("scheduled", requeue_after=AGAIN_SECONDS)
        await around.write_situation(instance, status, await around.situation(instance, status))
        return Result("idle")

    async def without_version(self, instance: Instance, unusable: str = "") -> Result:
        """Say that the OperatorVersion is missing; let the Instance go if it is being deleted.

        Args:
            instance: The Instance.
            unusable: Why the OperatorVersion cannot be used although it exists.

        Raises:
            Outdated: the Instance changed since it was read.
        """
        around = self.around
        namespace, name = instance.operator_version_key
        text = unusable or f"OperatorVersion {namespace}/{name} does not exist"
        uid = instance.scheduled.uid or instance.metadata.uid
        if instance.metadata.deleting:
            text = f"{text}: no cleanup plan can run, the Instance is let go"
            await around.events.warning(instance, uid, "InvalidOperatorVersion", text)
            await around.release(instance)
            return Result("deleting")
        await around.events.warning(instance, uid, "InvalidOperatorVersion", text)
        if not unusable:
            text = f"{text}; create it, or name another in spec.operatorVersion"
        situation = Situation(("InvalidOperatorVersion", text))
        await around.write_situation(instance, instance.status, situation)
        return Result("invalid")
