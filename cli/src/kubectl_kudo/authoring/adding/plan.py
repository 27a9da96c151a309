"""`kubectl kudo package add plan`: adds a plan to a package."""

from kubectl_kudo.authoring.adding.flags import COMMON, HELP, is_asked
from kubectl_kudo.core.arguments import Args, Flag
from kubectl_kudo.core.command import Command


def run(args: Args) -> None:
    asked = is_asked(args, "plan")
    from kubectl_kudo.authoring.adding.add_plan import add_plan

    add_plan(args, asked=asked)


COMMAND = Command(
    run,
    "[name]",
    (
        Flag(
            ("--strategy",),
            "whether phases run serial or parallel (default: serial)",
            "name",
            "serial",
        ),
        Flag(
            ("--phase",),
            "name=parallel or name=serial: how its steps run; may be repeated",
            "phase",
            repeat=True,
        ),
        Flag(
            ("--step",),
            "phase/step=task,task, in their order; without phase it is main; may be repeated",
            "step",
            repeat=True,
        ),
        *COMMON,
    ),
    more=HELP,
    examples=(
        ("One step with two tasks", "package add plan backup --step copy=dump,upload"),
        (
            "Two phases",
            "package add plan restore --step stop/app=stop --step go/db=db --phase go=parallel",
        ),
    ),
)
