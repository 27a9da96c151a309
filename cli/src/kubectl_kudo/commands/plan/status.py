"""`kubectl kudo plan status`: shows the plans of an Instance as a tree, or its status as data.

The Instances that its KudoOperator tasks created are shown with it.
"""

import asyncio
import sys
from datetime import UTC, datetime
from typing import Final

from kubectl_kudo.diagnostics.installation_findings import nobody_leads
from kubectl_kudo.reading.instance_state import is_suspended, see_why
from kubectl_kudo.reading.outcome import outcome_of_present, present_run
from kubectl_kudo.reading.owned import members_below, statuses
from kubectl_kudo.reading.parameter_sources import source_states
from kubectl_kudo.reading.plan_view import (
    original_node,
    plan_node,
    shown_plan,
)
from kubectl_kudo.reading.runs import active, entries, key_of
from kubectl_kudo.reading.summary_line import NO_LEADER, is_held_up, is_settled, summary_line
from kubectl_kudo.screens.plan_tree import below_headline, explained_steps, no_plan, plan_tree
from kubectl_kudo.screens.waiting import shown_on_stderr, tell_warnings, wait_for
from kubectl_kudo.session.arguments import INSTANCE, OUTPUT, WAIT, Args, Flag
from kubectl_kudo.session.blocks import Block, Mark, Prose
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError
from kubectl_kudo.session.output import JsonObject, check_format, one, show
from kubectl_kudo.session.session import Session, in_session
from kubectl_kudo.session.terminal import word

_SUMMARY_LINES: Final = 3
"""Lines of a terminal that the summary takes at most: its message stands in the tree, too."""


def run(args: Args) -> None:
    args.wait = args.wait or args.watch
    if args.plan and (args.all or args.wait):
        other = "--all" if args.all else "--watch" if args.watch else "--wait"
        raise UsageError(f"--plan and {other} cannot be combined: {other} is not about one plan")
    check_format(args.output)
    in_session(args, lambda session: _status(session, args))


async def _status(session: Session, args: Args) -> None:
    """Print the status; with `--wait` when the plan has ended, and fail if the plan did."""
    instance = await session.instance(args.instance)
    if instance is None:
        raise CliError(
            f"instance {session.namespace}/{args.instance} does not exist", code=ExitCode.NOT_FOUND
        )
    failed: CliError | None = None
    if args.wait:
        instance, failed = await _wait(session, instance)
    if args.output:
        print(one(await _data(session, instance, args.plan), args.output), end="")
    else:
        # Scripts read the tree, and nothing else, from a pipe.
        if sys.stdout.isatty():
            show(*await _summary(session, instance))
        show(*await _picture(session, instance, args))
        show(*[Prose(str(each)) for each in await source_states(session, instance)])
    if failed:
        raise failed


async def _summary(session: Session, instance: JsonObject) -> list[Block]:
    """Return how the Instance is, and which command tells more of one that is not well."""
    now, hindrance = datetime.now(UTC), ""
    if is_held_up(instance) and await session.version_of(instance) is None:
        reference = (instance["spec"].get("operatorVersion") or {}).get("name")
        hindrance = f"its OperatorVersion {reference} was not found"
    elif is_held_up(instance) and await nobody_leads(session.client, now):
        hindrance = NO_LEADER
    if active(instance) is not None:
        mark = Mark.IDLE if is_suspended(instance) else Mark.BUSY
    else:
        mark = Mark.GOOD if is_settled(instance) else Mark.BAD
    text = summary_line(instance, now, hindrance=hindrance)
    advice = [] if mark is Mark.GOOD else [Prose(see_why(key_of(instance)), whole=True)]
    return [Prose(text, most=_SUMMARY_LINES, mark=mark), *advice, Prose()]


async def _wait(session: Session, instance: JsonObject) -> tuple[JsonObject, CliError | None]:
    """Return the Instance at the end of the run, and why the run failed if it did."""
    target = present_run(instance)
    if target is None:
        return instance, None
    progress = await shown_on_stderr(session, instance)
    # The last picture goes to stdout, and to a terminal only once.
    keep = not sys.stdout.isatty()
    try:
        end = await wait_for(
            session,
            target,
            limit=0,
            progress=progress,
            outcome_of=outcome_of_present,
            # The tree has them.
            logs=False,
        )
    except CliError as error:
        # The tree of the failed run is printed before the error.
        return await session.instance(target.key.partition("/")[2]) or instance, error
    except asyncio.CancelledError:
        # Below it stands how to go on.
        keep = True
        raise
    finally:
        progress.close(keep=keep)
    await tell_warnings(session, end)
    return end.instance or instance, None


async def _data(session: Session, instance: JsonObject, plan: str) -> JsonObject:
    if plan:
        check_plan(instance, await session.version_of(instance), plan)
        return entries(instance).get(plan) or {}
    children = statuses(await members_below(session, instance))
    return {**(instance.get("status") or {}), **({"children": children} if children else {})}


async def _picture(session: Session, instance: JsonObject, args: Args) -> list[Block]:
    if not args.plan and not args.all:
        return await plan_tree(session, instance)
    if shown_plan(instance) is None and not args.plan:
        return no_plan(instance)
    version = await session.existing_version_of(instance)
    plans = version["spec"].get("plans") or {}
    if args.all:
        return below_headline(instance, original_node(instance, plans))
    check_plan(instance, version, args.plan)
    node = plan_node(instance, plans, args.plan, await explained_steps(session, instance))
    return below_headline(instance, node)


def check_plan(instance: JsonObject, version: JsonObject | None, plan: str) -> None:
    """Raise CliError if neither the OperatorVersion nor the status has a plan of that name."""
    plans = {*(((version or {}).get("spec") or {}).get("plans") or {}), *entries(instance)}
    if plan not in plans:
        text = f"instance {key_of(instance)} has no plan {plan}"
        text = word(f"{text}; its plans: {', '.join(sorted(plans)) or 'none'}")
        raise CliError(text, code=ExitCode.NOT_FOUND)


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(("--plan",), "show this plan instead", "plan"),
        Flag(("--all",), "show all plans in the form of KUDO 0.19", default=False),
        WAIT,
        Flag(("--watch",), "the same as --wait", default=False),
        OUTPUT,
    ),
    required=("instance",),
    more="Other plans take a line each, and those that never ran one line together. Below a step\n"
    "that waits stand the last events of the objects that it waits for, and below one whose\n"
    "Job or pod has failed the last lines of the log.\n"
    "\n"
    "With --wait the command ends when the plan does: with success on COMPLETE, with an\n"
    "error on FATAL_ERROR. Meanwhile each task that runs has a line: since when, how often\n"
    "it failed, and when it is tried next; and so has the time limit that comes first: when\n"
    "it passes. With -o it prints the status of the instance as data, with --plan that of\n"
    "the plan.",
    examples=(
        ("The plan that runs, or ran last", "plan status --instance web"),
        ("Watch the plan until it ends", "plan status --instance web --wait"),
        ("How the last run of the plan `backup` went", "plan status --instance web --plan backup"),
        ("The status as YAML", "plan status --instance web -o yaml"),
    ),
)
