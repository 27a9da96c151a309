"""`kubectl kudo plan wait`: ends when the run in progress does, and as it does."""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import no_arguments
from kubectl_kudo.core.output import say
from kubectl_kudo.core.session import Session, in_session
from kubectl_kudo.state.outcome import judge_present, present_run
from kubectl_kudo.state.plan_view import shown_plan
from kubectl_kudo.state.waiting import wait_and_show


def run(args: Args) -> None:
    no_arguments("plan wait", args.arguments, "name the instance with --instance=<name>")
    in_session(args, lambda session: wait(session, args))


async def wait(session: Session, args: Args) -> None:
    """Wait for the end; a run that has ended is judged at once."""
    instance = await session.existing_instance(args.instance)
    target = present_run(instance)
    if target is None:
        say(f"No plan ever run for instance - nothing to wait for with instance {args.instance}")
        return
    end = await wait_and_show(session, target, instance, limit=args.wait_time, judge=judge_present)
    say(f"plan {shown_plan(end or instance)} of instance {target.key} is COMPLETE")
