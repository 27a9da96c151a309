"""`kubectl kudo resume`: ends the pause of an Instance."""

from kubectl_kudo.core.arguments import CHILDREN, INSTANCE, WAITING, WRITING, Args
from kubectl_kudo.core.command import Command


def run(args: Args) -> None:
    from kubectl_kudo.control.set_suspend import resume
    from kubectl_kudo.core.session import in_session

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
