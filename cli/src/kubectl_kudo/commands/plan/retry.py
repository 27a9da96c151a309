"""`kubectl kudo plan retry`: goes on with the last run of a plan, which failed."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_kudo.commands.plan.status import check_plan
from kubectl_kudo.commands.plan.trigger import schedule
from kubectl_kudo.reading.instance_state import flags_of
from kubectl_kudo.reading.runs import (
    COMPLETE,
    FATAL_ERROR,
    active,
    entries,
    key_of,
    last_executed,
    short_uid,
    status_of,
)
from kubectl_kudo.session.arguments import CHANGE_HELP, INSTANCE, WAITING, WRITING, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError, denied
from kubectl_kudo.session.names import closest
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.session.session import Session, in_session
from kubectl_kudo.session.terminal import word
from kudo.api.problems import listed, shown


def run(args: Args) -> None:
    if not args.instance:
        raise UsageError("please choose the instance with '--instance=<instanceName>'")
    in_session(args, lambda session: retry(session, args))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(("--name",), "name of the plan (default: the one that ran last)", "plan"),
        Flag(
            ("--from",),
            "step to begin at (default: the first unfinished one); those before count as finished",
            "phase.step",
        ),
        *WAITING,
        *WRITING,
    ),
    more="The step that failed and all unfinished ones run again, as a new run. Only the last run "
    "of a\nplan can be retried, if it failed, and only with the OperatorVersion and the parameters "
    "that it\nbegan with. Otherwise start over: `plan trigger`.\nThe parameters of the run are "
    "those of the failed one.\n\n"
    "With --from every step before it counts as finished, also if it is not, and all others run.\n"
    "The command tells which steps these are before it sends anything.\n\n" + CHANGE_HELP,
    examples=(
        ("Go on where the last plan failed", "plan retry --instance web"),
        ("See first what would run again", "plan retry --instance web --dry-run=client"),
        (
            "Begin at a later step, and wait for the end",
            "plan retry --instance web --name backup --from main.upload --wait",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Retry:
    """What a retry does with the steps of a run, each as `phase.step`.

    Attributes:
        kept: Steps that stay finished.
        assumed: Unfinished steps that count as finished.
        again: Steps that run, in the order of the plan.
        repeated: Those among them that were finished.
    """

    kept: Sequence[str]
    assumed: Sequence[str]
    again: Sequence[str]
    repeated: Sequence[str]


async def retry(session: Session, args: Args) -> None:
    """Retry the last run of the plan, or of all plans without `--name`, under a fresh uid.

    Raises:
        CliError: it did not fail, is in progress or never began; nothing is sent then.
    """
    instance = await session.existing_instance(args.instance)
    plan, begin = args.name or last_executed(instance) or "", str(getattr(args, "from"))
    entry = await _failed_run(session, instance, plan)
    # Told before it is sent: with --from, steps count as finished that are not.
    _foretell(plan, entry, retry_of(entry, begin) if begin else retry_of(entry), begin)
    text = f"Triggered retry of {word(plan)} plan for {key_of(instance)} instance"
    fields = {"retryOf": entry["uid"], "from": begin or None}
    await schedule(session, args, plan, text, fields)


async def _failed_run(session: Session, instance: JsonObject, plan: str) -> JsonObject:
    """Return the entry of the last run of a plan, which failed."""
    key, run = key_of(instance), active(instance)
    flags = flags_of(key)
    if run is not None:
        text = f"plan {run.plan} is running, and only a run that has failed can be retried"
        how = f"wait for it: kubectl kudo plan wait {flags}"
        # The reasons are those of the webhook, so that scripts see the same ones.
        raise denied("PlanRunning", f"instance {key}: {text}; {how}")
    if not plan:
        text = f"no plan of instance {key} ever ran: there is nothing to retry"
        raise CliError(text, code=ExitCode.NOT_FOUND)
    entry = entries(instance).get(plan) or {}
    # KUDO 0.19 gave plans that never ran an entry without a uid.
    if not entry.get("uid"):
        # First whether there is such a plan at all: a wrong name is told as that.
        check_plan(instance, await session.version_of(instance), plan)
        text = f"plan {plan} of instance {key} never ran: there is nothing to retry"
        how = f"run it: kubectl kudo plan trigger {flags} --name {plan}"
        raise CliError(f"{text}; {how}", code=ExitCode.NOT_FOUND)
    if status_of(entry) != FATAL_ERROR:
        text = f"the last run of plan {plan} did not fail, it is {status_of(entry)}"
        how = f"run the plan again: kubectl kudo plan trigger {flags} --name {plan}"
        raise denied("RetryNotFailed", f"instance {key}: {text}; {how}")
    return entry


def retry_of(entry: JsonObject, begin: str | None = None) -> Retry:
    """Return what a retry of a run does with its steps.

    Args:
        entry: Of the run in the status.
        begin: The step to begin at; None for the first unfinished one.

    Raises:
        CliError: the run has no step of that name.
    """
    steps = [
        (f"{phase.get('name')}.{step.get('name')}", status_of(step) == COMPLETE)
        for phase in entry.get("phases") or []
        for step in phase.get("steps") or []
    ]
    names = [name for name, _ in steps]
    if begin is None:
        kept = [name for name, done in steps if done]
        return Retry(kept, (), [name for name, done in steps if not done], ())
    if begin not in names:
        close = closest(begin, names)
        hint = f"did you mean {close[0]}?" if close else f"its steps: {listed(names) or 'none'}"
        text = f"plan {entry.get('name')} has no step {shown(begin)}; {hint}"
        raise denied("RetryUnknownStep", word(text))
    before, after = steps[: names.index(begin)], steps[names.index(begin) :]
    return Retry(
        [name for name, done in before if done],
        [name for name, done in before if not done],
        [name for name, _ in after],
        [name for name, done in after if done],
    )


def _foretell(plan: str, entry: JsonObject, retry: Retry, begin: str) -> None:
    """Tell on stderr what a retry will do, before it is sent."""
    first = begin or (retry.again[0] if retry.again else "its end")
    run = short_uid(str(entry["uid"]))
    talk(word(f"Retry of run {run} of plan {plan}: it begins at {first}."))
    lists = {
        "These steps stay finished": retry.kept,
        "These steps are assumed finished, although they are not": retry.assumed,
        "These steps run again, although they were finished": retry.repeated,
    }
    for text, names in lists.items():
        if names:
            talk(word(f"{text}: {listed(names)}"))
