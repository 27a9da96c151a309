"""`kubectl kudo resume`: ends the pause of an Instance."""

from kubectl_kudo.commands.suspend import instances_below, show_written, write_all
from kubectl_kudo.reading.outcome import outcome_of_present, present_run
from kubectl_kudo.reading.runs import active
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import CHILDREN, INSTANCE, WAITING, WRITING, Args
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.output import talk
from kubectl_kudo.session.session import Session, in_session


def run(args: Args) -> None:
    in_session(args, lambda session: resume(session, args))


COMMAND = Command(
    run,
    flags=(INSTANCE, CHILDREN, *WAITING, *WRITING),
    required=("instance",),
    more="An instance that is not suspended stays as it is. With --children the instances that\n"
    "its plans created are resumed, too, those at the top first. With --wait the command\n"
    "ends when the plan of the instance does, with an error if it fails.",
    examples=(
        ("Go on", "resume --instance web"),
        ("Go on, and wait for the end of the plan", "resume --instance web --wait"),
        ("The instance and all instances below it", "resume --instance web --children"),
    ),
)


async def resume(session: Session, args: Args) -> None:
    """Resume an Instance; with `--children` those below it after it, the deepest last."""
    instance = await session.existing_instance(args.instance)
    instances = [instance, *await instances_below(session, instance, args)]
    await write_all(session, instances, suspended=False)
    show_written(session, args)
    if not args.wait or session.report.dry:
        return
    instance = await session.existing_instance(args.instance)
    target = present_run(instance)
    if target is None or active(instance) is None:
        talk("There is no run to wait for.")
        return
    await wait_and_show(
        session, target, instance, limit=args.wait_time, outcome_of=outcome_of_present
    )
    session.report.say(f"instance {target.key} ready")
