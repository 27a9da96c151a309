"""`kubectl kudo suspend`: pauses an Instance; what was sent is observed, nothing more is sent."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from kubectl_kudo.reading.instance_state import MEANING, flags_of, is_deleting, is_suspended
from kubectl_kudo.reading.outcome import Outcome, State
from kubectl_kudo.reading.owned import listed_below
from kubectl_kudo.reading.plan_view import is_pending
from kubectl_kudo.reading.runs import active, key_of
from kubectl_kudo.screens.waiting import TimedOut, observe
from kubectl_kudo.session.arguments import CHILDREN, INSTANCE, WAIT_TIME, WRITING, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.session.session import Session, in_session
from kubeio.errors import KubeError

_IN_FLIGHT = (
    "Writes that are in flight may still arrive; with --wait the command ends when nothing more "
    "is sent."
)
_UNSEEN = "the reconciler of KUDO has not seen the pause yet; is it running?"


def run(args: Args) -> None:
    in_session(args, lambda session: suspend(session, args))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        CHILDREN,
        Flag(("--wait",), "wait until nothing more is sent", default=False),
        WAIT_TIME,
        *WRITING,
    ),
    required=("instance",),
    more="A plan that is running is held up, also inside a step; time limits do not count\n"
    "meanwhile. A change is accepted, and its plan waits. `plan cancel` and `uninstall`\n"
    "work as they do without a pause; deleting ends it. An instance that is suspended\n"
    "already stays so.\n"
    "\n"
    "Writes that are in flight may still arrive after the command. With --wait it ends when\n"
    "the reconciler has seen the pause, with --children that of each instance, and sends\n"
    "nothing more.\n"
    "\n"
    "With --children the instances that its plans created (KudoOperator tasks) are\n"
    "suspended, too, those at the bottom first. Without it they go on.",
    examples=(
        ("Repair something by hand while no plan interferes", "suspend --instance web --wait"),
        ("The instance and all instances below it", "suspend --instance web --children"),
        ("Go on", "resume --instance web"),
    ),
)


async def suspend(session: Session, args: Args) -> None:
    """Suspend an Instance; with `--children` those below it before it, the deepest first.

    Raises:
        CliError: it is being deleted, which no pause holds up; or the wait failed.
        TimedOut: the reconciler did not see the pause in time.
    """
    instance = await session.existing_instance(args.instance)
    if is_deleting(instance):
        text = f"instance {key_of(instance)} is being deleted, which no pause holds up"
        raise CliError(f"{text}; see it: kubectl kudo plan status {flags_of(key_of(instance))}")
    instances = [instance, *await instances_below(session, instance, args)]
    # The deepest first: a parent that is still running could send changes to its children.
    await write_all(session, instances[::-1], suspended=True)
    show_written(session, args)
    if session.report.dry:
        return
    if args.wait:
        paused = [each for each in instances[::-1] if not is_deleting(each)]
        await wait_for_pauses(session, paused, limit=args.wait_time)
    elif any(map(active, session.writes.objects)):
        talk(_IN_FLIGHT)


async def wait_for_pauses(session: Session, instances: Sequence[JsonObject], *, limit: int) -> None:
    """Return when the status of each Instance says that it is suspended; tell of each.

    After ctrl-C, as after a timeout, all of them stay suspended.

    Args:
        session: The connection.
        instances: Suspended Instances.
        limit: Seconds to wait for all of them; 0 for no limit.

    Raises:
        CliError: one was resumed or deleted meanwhile.
        TimedOut: the reconciler did not see all of them in time.
    """
    key = ""
    try:
        async with asyncio.timeout(limit or None):
            for instance in instances:
                key = key_of(instance)
                await _wait(session, key, instance["metadata"]["uid"])
                session.report.say(f"instance {key} is suspended: nothing more is sent")
    except TimeoutError:
        text = f"timed out waiting for the condition after {limit}s: {_UNSEEN}"
        raise TimedOut(f"failed to wait on instance {key}: {text}\n{_stays(key)}") from None
    except asyncio.CancelledError:
        talk(f"\nStopped waiting for instance {key}. {_stays(key)}")
        raise


async def _wait(session: Session, key: str, uid: str) -> None:
    namespace, _, name = key.partition("/")
    async with aclosing(observe(session.client, namespace, name)) as states:
        async for instance in states:
            outcome = outcome_of_pause(key, uid, instance)
            if outcome.state is State.FAILED:
                raise CliError(outcome.text)
            if outcome.state is State.DONE:
                return


def outcome_of_pause(key: str, uid: str, instance: JsonObject | None) -> Outcome:
    """Return whether the reconciler has seen that an Instance is suspended.

    Args:
        key: `namespace/name`, for messages.
        uid: Uid of the Instance; another one of the same name does not count.
        instance: Its present state; None if there is none.
    """
    if instance is None or instance["metadata"]["uid"] != uid:
        return Outcome(State.FAILED, f"instance {key} was deleted while waiting for its pause")
    if is_deleting(instance):
        return Outcome(State.FAILED, f"instance {key} is being deleted, which no pause holds up")
    if not is_suspended(instance):
        return Outcome(State.FAILED, f"instance {key} was resumed while waiting for its pause")
    # It is removed before anything is sent after a pause, so it is never that of an earlier one.
    seen = bool((instance.get("status") or {}).get("suspendedAt"))
    return Outcome(State.DONE) if seen else Outcome(State.WAITING, _UNSEEN)


def _stays(key: str) -> str:
    see = f"kubectl kudo plan status {flags_of(key)}"
    return f"The instance stays suspended.\nSee whether the reconciler has seen it: {see}"


async def instances_below(session: Session, instance: JsonObject, args: Args) -> list[JsonObject]:
    """Return the Instances below this one, parents first; none without `--children`."""
    children = await listed_below(session, instance) if args.children else ()
    names = [each.name for child in children for each in child.all()]
    instances = [await session.instance(name) for name in names]
    return [each for each in instances if each is not None]


async def write_all(session: Session, instances: Sequence[JsonObject], *, suspended: bool) -> None:
    """Write to each Instance; an error names those that were written before it, and the rest."""
    names = [str(instance["metadata"]["name"]) for instance in instances]
    for number, instance in enumerate(instances):
        try:
            await _write(session, instance, suspended=suspended)
        except (KubeError, CliError) as error:
            if len(instances) > 1:
                done, rest = ", ".join(names[:number]), ", ".join(names[number:])
                error.add_note(f"\n  done before: {done or 'none'}\n  not done: {rest}")
            raise


async def _write(session: Session, instance: JsonObject, *, suspended: bool) -> None:
    key = key_of(instance)
    if suspended and is_deleting(instance):
        session.report.say(f"Instance {key} is being deleted, which no pause holds up")
        return
    if bool(instance["spec"].get("suspend")) == suspended:
        state = "already" if suspended else "not"
        session.report.say(f"Instance {key} is {state} suspended")
        return
    # The uid makes the API server refuse another Instance that has this name by now.
    metadata = {"uid": instance["metadata"]["uid"]}
    patch = {"metadata": metadata, "spec": {"suspend": True if suspended else None}}
    name = instance["metadata"]["name"]
    after = await session.writes.merge_patch(INSTANCES, session.namespace, name, patch)
    session.report.done(f"{'Suspended' if suspended else 'Resumed'} {key} instance")
    run, resume = active(after), f"`kubectl kudo resume {flags_of(key)}`"
    pending = run is not None and is_pending(after, run.plan)
    if run is None and suspended:
        text = f"no plan is running; one that is to run waits until {resume}"
    elif run is None:
        text = "no plan was held up"
    elif not suspended:
        text = f"plan {run.plan} {'begins' if pending else 'goes on'}"
    elif pending:
        text = f"plan {run.plan} was not started yet, and waits until {resume}"
    else:
        text = f"plan {run.plan} is held up: {MEANING} until {resume}"
    session.report.say(text)


def show_written(session: Session, args: Args) -> None:
    written = session.writes.objects
    if args.children:
        session.report.show_all(written)
    elif written:
        session.report.show(written[-1])
