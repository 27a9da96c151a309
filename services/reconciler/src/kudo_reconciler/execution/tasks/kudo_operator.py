"""The KudoOperator task: create or update an Instance of another operator, and wait for its plan.

    render ──> as desired? ── no ──> dependencies exist, is it ours? ──> one update ──┐
                  └── yes ──> its plan COMPLETE? <── wait ────────────────────────────┘

Each attempt decides from the state in the cluster. The child has an annotation with the uid of the
execution of its parent that sent it last. It tells failures before this execution from failures in
it: a plan that failed before is run again, once, and a plan that fails now ends the plan of the
parent. A child that runs a plan for an update of this execution is not changed until it has ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from kubeio import jsonpatch
from kubeio.errors import ApiError, Conflict, ConnectionLost
from kudo.api import Instance, JsonObject, OperatorVersion, task_errors
from kudo.api.names import ANNOTATION_PLAN_UID
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.objects.health import State, failed_plan, health_of
from kudo.tasks import kudo_operator as children
from kudo.tasks.kudo_operator import Child, ChildUpdate, Kin
from kudo_reconciler.common.errors import Refusal, error_text, is_permanent, task_error
from kudo_reconciler.common.keys import INSTANCES, Key
from kudo_reconciler.execution.expected import Expected
from kudo_reconciler.execution.recording import Recording
from kudo_reconciler.execution.task_context import (
    AppliedObject,
    RenderContext,
    TaskContext,
    TaskResult,
)
from kudo_reconciler.execution.tasks.parts import TaskParts
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.objects.resolver import Resolver
from kudo_reconciler.objects.run_context import check_may_write
from kudo_reconciler.store.instances import InstanceStore
from kudo_reconciler.store.versions import ChildVersions
from kudo_reconciler.tenancy.access import AccessReviews

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class ChildTask:
    """Runs KudoOperator tasks."""

    instances: InstanceStore
    versions: ChildVersions
    metrics: Metrics
    reviews: AccessReviews
    recording: Recording

    @classmethod
    def of(cls, parts: TaskParts) -> Self:
        return cls(
            parts.instances,
            ChildVersions(parts.versions),
            parts.metrics,
            parts.reviews,
            parts.recording,
        )

    @staticmethod
    async def expected(context: RenderContext, _: Resolver) -> Sequence[Expected]:
        """Return the child; no parameter file is rendered for its name."""
        child = children.child_of(context.task, context.instance, context.version, {})
        return [Expected(INSTANCES, child.name)]

    async def run(self, context: TaskContext) -> TaskResult:
        """Send the next update, if one is needed, and report the health of the child.

        Raises:
            FatalTaskError: the plan cannot continue.
            TransientTaskError: a retry may help.
            Superseded: the run was replaced.
        """
        child = await self._desired(context)
        await self.recording.expect_named([(INSTANCES, child.name)], context)
        seen = await self._read(child, context)
        if seen is not None and _is_of_this_run(seen, context):
            health = health_of(seen)
            if not health.healthy:
                return _result(child, seen, context)
            if _is_as_applied(seen, child, context):
                return TaskResult(done=True)
        return await self._change(child, context)

    async def _desired(self, context: TaskContext) -> Child:
        """Return the desired child, rendered once for each execution."""
        remembered = context.memory.children.get(context.key)
        if remembered is not None:
            return remembered
        name = context.task.spec.parameter_file
        settings = await context.child_settings(name) if name else {}
        child = children.child_of(context.task, context.instance, context.version, settings)
        children.check_ancestors(
            child, context.instance, lambda *key: self.instances.cached(Key(*key))
        )
        context.memory.children[context.key] = child
        return child

    async def _read(self, child: Child, context: TaskContext) -> JsonObject | None:
        key = Key(child.namespace, child.name)
        if context.memory.rechecking:
            return await self.instances.read(key, client=context.client)
        if self.instances.informer.get(*key) is None:
            return None
        if await self.reviews.may_get(context.client, INSTANCES, child.namespace):
            # Again: it may have changed during the review.
            return self.instances.informer.get(*key)
        return await self.instances.read(key, client=context.client)

    # Changing it

    async def _change(self, child: Child, context: TaskContext) -> TaskResult:
        # Those of the whole tree must exist before anything of it is sent.
        tree = await self.versions.tree(context.version, context.path.plan)
        after = tree[child.version]
        assert after is not None
        children.check_secrets(child, after)
        for _ in range(_ATTEMPTS):
            seen = await self.instances.read(
                Key(child.namespace, child.name), client=context.client
            )
            try:
                return await self._attempt(child, after, seen, context)
            except Conflict:
                # It changed since it was read: decide again by what it is now.
                continue
            except (ApiError, ConnectionLost) as error:
                if not _is_busy(error):
                    raise self._task_error(child, error) from error
                waiting = await self._wait_for_plan(child, context)
                if waiting is not None:
                    return waiting
        raise TransientTaskError("TaskApplyError", f"{child} keeps changing while it is applied")

    async def _attempt(
        self, child: Child, after: OperatorVersion, seen: JsonObject | None, context: TaskContext
    ) -> TaskResult:
        if seen is None:
            return await self._apply(child, None, _everything(child), context)
        existing = Instance.from_wire(seen)
        waiting = _blocked_by_deletion(child, existing, context)
        if waiting:
            return TaskResult(done=False, message=waiting, awaits=context.awaited(seen))
        health = health_of(seen)
        if existing.metadata.deleting or (_is_of_this_run(seen, context) and not health.healthy):
            return _result(child, seen, context)
        before = await self.versions.find(existing.operator_version_key)
        seen = await self._migrate_fields(child, seen, before, context)
        owned = children.owned_parameters(seen["metadata"])
        update = children.next_update(child, existing, owned, before, after)
        plan = "" if health.state is not State.FAILED else failed_plan(seen)
        if plan and not children.differs(existing, update, owned):
            owns_account = children.owns_account(seen["metadata"])
            if children.differs_in_account(child, existing, owns_account):
                seen = await self._change_account(child, seen, update, context)
            return await self._restart(child, seen, plan, context)
        return await self._apply(child, seen, update, context)

    async def _apply(
        self, child: Child, seen: JsonObject | None, update: ChildUpdate, context: TaskContext
    ) -> TaskResult:
        target = children.manifest(
            child, context.instance, context.uid, update.version, update.parameters
        )
        check_may_write(context)
        applied = await self.instances.apply_child(target, seen, client=context.client)
        self.metrics.applied.labels("applied").inc()
        if update.last:
            item = AppliedObject(INSTANCES, child.namespace, child.name, _uid(applied))
            context.memory.applied[context.key] = (item,)
        return _result(child, applied, context, last=update.last)

    async def _change_account(
        self, child: Child, seen: JsonObject, update: ChildUpdate, context: TaskContext
    ) -> JsonObject:
        """Apply the account of a child whose failed plan is run again, which it does not run.

        The execution that the child names stays, so that after a crash its plan is run again.
        """
        target = children.manifest(
            child,
            context.instance,
            children.execution_of(seen["metadata"]),
            update.version,
            update.parameters,
        )
        check_may_write(context)
        return await self.instances.apply_child(target, seen, client=context.client)

    async def _restart(
        self, child: Child, seen: JsonObject, plan: str, context: TaskContext
    ) -> TaskResult:
        """Run a plan again that failed before this execution; one write sets uid and plan."""
        annotations = {
            **(seen["metadata"].get("annotations") or {}),
            ANNOTATION_PLAN_UID: context.uid,
        }
        check_may_write(context)
        restarted = await self.instances.patch_child(
            seen,
            jsonpatch.add("/metadata/annotations", annotations),
            jsonpatch.add("/spec/planExecution", children.restart(seen, plan, context.uid)),
            client=context.client,
        )
        return _result(child, restarted, context)

    async def _migrate_fields(
        self,
        child: Child,
        seen: JsonObject,
        before: OperatorVersion | None,
        context: TaskContext,
    ) -> JsonObject:
        """Migrate fields that KUDO 0.19 set in a child, so that an apply can remove them."""
        kept = []
        for name in (seen.get("spec") or {}).get("parameters") or {}:
            declared = None if before is None else before.parameter(name)
            # The rules deny that an apply removes an immutable parameter.
            immutable = before is None or (declared is not None and bool(declared.immutable))
            if name not in child.parameters and immutable:
                kept.append(name)
        entries = children.handed_over(seen["metadata"], kept)
        if entries is None:
            return seen
        check_may_write(context)
        update = jsonpatch.add("/metadata/managedFields", entries)
        return await self.instances.patch_child(seen, update, client=context.client)

    # What comes of it

    async def _wait_for_plan(self, child: Child, context: TaskContext) -> TaskResult | None:
        """Return a result that names the child's plan to wait for; None if it ended meanwhile."""
        seen = await self.instances.read(Key(child.namespace, child.name), client=context.client)
        health = None if seen is None else health_of(seen)
        if seen is None or health is None or health.state is not State.WAITING:
            return None
        message = f"{health.message}; {child} is updated after it"
        return TaskResult(done=False, message=message, awaits=context.awaited(seen))

    def _task_error(self, child: Child, error: Refusal) -> FatalTaskError | TransientTaskError:
        self.metrics.applied.labels("refused" if is_permanent(error) else "failed").inc()
        text = f"failed to apply {child} of task {child.task}: {error_text(error, INSTANCES)}"
        return task_error("TaskApplyError", text, error)


def _result(
    child: Child, seen: JsonObject, context: TaskContext, *, last: bool = True
) -> TaskResult:
    """Return the result of an attempt that leaves the child in this state.

    Raises:
        FatalTaskError: waiting for the child will not help.
    """
    health = health_of(seen)
    if health.state is State.FAILED:
        raise FatalTaskError(
            "FailedTerminalStateError",
            task_errors.unhealthy(child.namespace, child.name, health.message),
        )
    awaits = context.awaited(seen)
    return TaskResult(done=last and health.healthy, message=health.message, awaits=awaits)


def _blocked_by_deletion(child: Child, existing: Instance, context: TaskContext) -> str:
    """Return what to wait for before an existing Instance may be changed; empty if it is ours.

    Raises:
        FatalTaskError: it is not ours.
    """
    match children.kin_of(existing, context.instance):
        case Kin.OURS:
            return ""
        case Kin.ORPHAN:
            parent = context.instance.metadata.name
            return (
                f"{child} belongs to an earlier Instance {parent} and is being deleted with it: "
                "it is created again after its deletion"
            )
        case Kin.FOREIGN:
            raise children.refusal(child, existing)


def _everything(child: Child) -> ChildUpdate:
    return ChildUpdate(child.version, child.parameters, last=True)


def _is_of_this_run(seen: JsonObject, context: TaskContext) -> bool:
    return children.execution_of(seen["metadata"]) == context.uid


def _is_as_applied(seen: JsonObject, child: Child, context: TaskContext) -> bool:
    """Return whether everything was sent, and nothing of it has been changed since."""
    sent = context.memory.applied.get(context.key, ())
    if not any(item.uid == _uid(seen) for item in sent):
        return False
    existing = Instance.from_wire(seen)
    # Of a child in the cache nobody knows who owns its fields.
    if children.differs_in_account(child, existing, owned=False):
        return False
    return not children.differs(existing, _everything(child), ())


def _is_busy(error: Refusal) -> bool:
    """Return whether the admission rules denied an update because the child runs a plan."""
    return isinstance(error, ApiError) and "PlanRunning" in {
        error.reason,
        *(cause.reason for cause in error.causes),
    }


def _uid(obj: JsonObject) -> str:
    return str(obj["metadata"]["uid"])
