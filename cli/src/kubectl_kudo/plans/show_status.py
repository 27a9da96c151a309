"""Shows the plans of an Instance as a tree, or its status as data.

The Instances that its KudoOperator tasks created are shown with it.
"""

import sys

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import CliError, ExitCode
from kubectl_kudo.core.output import JsonObject, one
from kubectl_kudo.core.session import Session
from kubectl_kudo.core.tree import draw
from kubectl_kudo.plans.family_view import family_node
from kubectl_kudo.state.children import Member, members_below, statuses
from kubectl_kudo.state.outcome import outcome_of_present, present_run
from kubectl_kudo.state.plan_view import headline, shown_plan
from kubectl_kudo.state.waiting import shown_on_stderr, wait_for


async def status(session: Session, args: Args) -> None:
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
        print(one(await _data(session, instance), args.output), end="")
    else:
        print(await _picture(session, instance))
    if failed:
        raise failed


async def _wait(session: Session, instance: JsonObject) -> tuple[JsonObject, CliError | None]:
    """Return the Instance at the end of the run, and why the run failed if it did."""
    target = present_run(instance)
    if target is None:
        return instance, None
    progress = await shown_on_stderr(session, instance)
    try:
        end = await wait_for(
            session, target, limit=0, progress=progress, outcome_of=outcome_of_present
        )
    except CliError as error:
        return await session.instance(target.key.partition("/")[2]) or instance, error
    finally:
        # The last picture goes to stdout, and to a terminal only once.
        progress.close(keep=not sys.stdout.isatty())
    return end or instance, None


async def _data(session: Session, instance: JsonObject) -> JsonObject:
    children = statuses(await members_below(session, instance))
    return {**(instance.get("status") or {}), **({"children": children} if children else {})}


async def _picture(session: Session, instance: JsonObject) -> str:
    if shown_plan(instance) is None:
        name = instance["metadata"]["name"]
        return f"No plan ever run for instance - nothing to show for instance {name}"
    version = await session.existing_version_of(instance)
    children = await members_below(session, instance)
    node = family_node(Member(instance, version, children))
    return f"{headline(instance)}\n{draw([node])}"
