"""`kubectl kudo uninstall`: deletes an Instance; the API server deletes what it owns."""

import time
from collections.abc import Sequence

from kubectl_kudo.instances.left_behind import account_left_behind, left_behind
from kubectl_kudo.instances.unused import uninstall_unused
from kubectl_kudo.reading.instance_state import flags_of, is_suspended
from kubectl_kudo.reading.outcome import Target, outcome_of_removal
from kubectl_kudo.reading.owned import Names, names_below
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import DRY_RUN, INSTANCE, WAITING, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, talk, warn
from kubectl_kudo.session.session import Session, in_session
from kubeio.errors import NotFound
from kudo.api.names import API_VERSION, FINALIZER_CLEANUP, PLAN_CLEANUP


def run(args: Args) -> None:
    if args.all_unused:
        if args.instance or args.wait:
            raise UsageError("--all-unused cannot be used with --instance or --wait")
        uninstall_unused(args)
        return
    if not args.instance:
        raise UsageError('required flag(s) "instance" not set')
    in_session(args, lambda session: uninstall(session, args))


COMMAND = Command(
    run,
    "[instance] | --all-unused",
    (
        INSTANCE,
        *WAITING,
        Flag(
            ("--all-unused",),
            "delete the operators and operatorversions that no instance uses instead",
            default=False,
        ),
        Flag(("--yes",), "with --all-unused: do not ask", default=False),
        DRY_RUN,
    ),
    more="Instances that its plans created (KudoOperator tasks) are deleted with it; --wait\n"
    "waits for them, too. The operator and its versions stay, for other instances. Deleting\n"
    "ends the pause of an instance that is suspended: its cleanup plan runs.\n"
    "\n"
    "--all-unused lists the operators and operatorversions of the namespace that no\n"
    "instance uses, those of children included, and deletes them after confirmation. What a\n"
    "used version needs for its KudoOperator tasks stays.\n"
    "\n"
    "The account of an instance and its rights stay, too; the command that deletes them is\n"
    "printed.",
    examples=(
        ("Delete an instance and wait until it is gone", "uninstall --instance web --wait"),
        ("Which operators does nobody use?", "uninstall --all-unused --dry-run=client"),
        ("Delete them without a question", "uninstall --all-unused --yes"),
    ),
)


async def uninstall(session: Session, args: Args) -> None:
    """Delete the Instance that is there now, and no other one of that name."""
    instance = await session.existing_instance(args.instance)
    left = await left_behind(session, instance)
    children = [one for child in await names_below(session, instance) for one in child.all()]
    account = await account_left_behind(session, instance)
    if is_suspended(instance):
        talk(_end_of_pause(instance))
    held = await _delete(session, instance)
    if held and not (args.wait or session.report.dry):
        _tell_held(session, instance)
    elif not held or session.report.dry:
        _tell_deleted(session, args.instance)
    if session.report.dry and _has_cleanup(instance):
        session.report.say(f"plan {PLAN_CLEANUP} would run first")
    if children:
        names = ", ".join(one.name for one in children)
        talk(f"these instances are deleted with it: {names}")
    if account:
        talk(account)
    for warning in left:
        warn(warning)
    if args.wait and not session.report.dry:
        await _until_gone(session, instance, children, args.wait_time, told=not held)


def _end_of_pause(instance: JsonObject) -> str:
    text = f"instance {instance['metadata']['name']} is suspended: deleting it ends the pause"
    return f"{text}, and plan {PLAN_CLEANUP} runs" if _has_cleanup(instance) else text


async def _delete(session: Session, instance: JsonObject) -> bool:
    """Delete the Instance; return whether finalizers keep it for now."""
    try:
        return await session.writes.delete(INSTANCES, instance) is not None
    except NotFound:  # another client deleted it meanwhile
        return False


def _tell_deleted(session: Session, name: str) -> None:
    session.report.done(f"instance.{API_VERSION}/{name} deleted")
    session.report.say("")


def _tell_held(session: Session, instance: JsonObject) -> None:
    name = instance["metadata"]["name"]
    first = f"; plan {PLAN_CLEANUP} runs first" if _has_cleanup(instance) else ""
    session.report.say(f"instance.{API_VERSION}/{name} is being deleted{first}")
    session.report.say("")
    flags = flags_of(f"{session.namespace}/{name}")
    talk(f"Wait for it: kubectl kudo uninstall {flags} --wait")


def _has_cleanup(instance: JsonObject) -> bool:
    return FINALIZER_CLEANUP in (instance["metadata"].get("finalizers") or [])


async def _until_gone(
    session: Session, instance: JsonObject, children: Sequence[Names], limit: int, *, told: bool
) -> None:
    """Wait until the Instance and those that it owns no longer exist, `limit` seconds in all."""
    end = time.monotonic() + limit
    await _one_gone(session, instance, limit)
    if not told:
        _tell_deleted(session, instance["metadata"]["name"])
    for child in children:
        there = await session.instance(child.name)
        if there is not None and there["metadata"]["uid"] == child.uid:
            # Zero would mean no limit.
            rest = max(1, int(end - time.monotonic())) if limit else 0
            await _one_gone(session, there, rest)
        session.report.say(f"instance.{API_VERSION}/{child.name} deleted")


async def _one_gone(session: Session, instance: JsonObject, limit: int) -> None:
    metadata = instance["metadata"]
    target = Target(metadata["uid"], f"{session.namespace}/{metadata['name']}")
    await wait_and_show(session, target, instance, limit=limit, outcome_of=outcome_of_removal)
