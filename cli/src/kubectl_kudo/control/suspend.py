"""`kubectl kudo suspend`: pauses an Instance; what was sent is observed, nothing more is sent."""

from kubectl_kudo.core.arguments import CHILDREN, INSTANCE, WAIT_TIME, WRITING, Args, Flag
from kubectl_kudo.core.command import Command


def run(args: Args) -> None:
    from kubectl_kudo.control.set_suspend import suspend
    from kubectl_kudo.core.session import in_session

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
