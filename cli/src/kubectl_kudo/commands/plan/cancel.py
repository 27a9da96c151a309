"""`kubectl kudo plan cancel`: cancels the run in progress, and no other one."""

from kubectl_kudo.reading.outcome import Target, outcome_of_cancel
from kubectl_kudo.reading.runs import (
    COMPLETE,
    FATAL_ERROR,
    RunId,
    active,
    entries,
    entry_of,
    key_of,
    last_executed,
    message_of,
    status_of,
)
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import INSTANCE, WAITING, WRITING, Args
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, say
from kubectl_kudo.session.session import Session, in_session
from kubectl_kudo.session.terminal import word
from kubeio.errors import Invalid


def run(args: Args) -> None:
    in_session(args, lambda session: cancel(session, args))


COMMAND = Command(
    run,
    flags=(INSTANCE, *WAITING, *WRITING),
    required=("instance",),
    more="What the plan has done so far stays. Only the run that the command sees is cancelled,\n"
    "never one that starts meanwhile. With --wait the command ends when the run has. A run\n"
    "that is held up because the instance is suspended is cancelled like any other; the\n"
    "pause stays.",
    examples=(
        ("Cancel a plan that is stuck", "plan cancel --instance web"),
        ("Cancel it, and wait until another plan can run", "plan cancel --instance web --wait"),
    ),
)


async def cancel(session: Session, args: Args) -> None:
    """Cancel the run in progress and, with `--wait`, wait until it has ended."""
    instance = await session.existing_instance(args.instance)
    running = active(instance)
    if running is None:
        raise CliError(
            f"{key_of(instance)} runs no plan: there is nothing to cancel{_last(instance)}"
        )
    await _request(session, instance, running)
    session.report.done(f"Cancelled {word(running.plan)} plan of {key_of(instance)} instance")
    session.report.show(session.writes.objects[-1])
    if args.wait and not session.report.dry:
        await _wait(session, instance, running, args.wait_time)


async def _request(session: Session, instance: JsonObject, running: RunId) -> None:
    name, path = instance["metadata"]["name"], "/spec/planExecution"
    # Applies to this run alone. A merge patch could start a new run: where this one has ended
    # meanwhile, naming its plan schedules it again.
    expected = {"planName": running.plan, "uid": running.uid}
    patch: list[JsonObject] = [
        {"op": "test", "path": f"{path}/{key}", "value": value}
        for key, value in expected.items()
        if value
    ]
    patch.append({"op": "add", "path": f"{path}/status", "value": FATAL_ERROR})
    try:
        await session.writes.json_patch(INSTANCES, session.namespace, name, patch)
    except Invalid:
        now = await session.existing_instance(name)
        newer = active(now)
        if newer == running:
            raise
        text = f"the run of plan {running.plan} of instance {key_of(now)} ended before it was "
        if newer is None:
            raise CliError(f"{text}cancelled{_last(now)}") from None
        raise CliError(
            f"{text}cancelled; a newer run, of plan {word(newer.plan)}, is in progress and was "
            "left alone"
        ) from None


async def _wait(session: Session, instance: JsonObject, running: RunId, limit: int) -> None:
    target = Target(instance["metadata"]["uid"], key_of(instance), running.plan, running.uid)
    end = await wait_and_show(session, target, instance, limit=limit, outcome_of=outcome_of_cancel)
    recorded = entry_of(end, running.uid) if end else None
    if recorded is None:
        say(f"plan {running.plan} of instance {target.key} has ended")
        return
    _, entry = recorded
    if status_of(entry) == COMPLETE:
        raise CliError(f"plan {running.plan} of instance {target.key} was COMPLETE before")
    message = f": {cause}" if (cause := message_of(entry)) else ""
    say(f"plan {running.plan} of instance {target.key} has ended with {status_of(entry)}{message}")


def _last(instance: JsonObject) -> str:
    plan = last_executed(instance)
    return f"; plan {word(plan)} is {status_of(entries(instance)[plan])}" if plan else ""
