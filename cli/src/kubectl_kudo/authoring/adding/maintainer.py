"""`kubectl kudo package add maintainer`: adds a maintainer to a package."""

from kubectl_kudo.authoring.adding.flags import COMMON, HELP
from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    from kubectl_kudo.authoring.asking import on_terminal

    asked = args.interactive or (not args.arguments and on_terminal())
    if len(args.arguments) not in ({0, 2} if asked else {2}):
        raise UsageError("expecting two arguments - name and email address")
    from kubectl_kudo.authoring.adding.add_maintainer import add_maintainer

    add_maintainer(args, asked=asked)


COMMAND = Command(
    run,
    "[name email]",
    COMMON,
    more=HELP,
    examples=(("In operator.yaml", 'package add maintainer "Ada" ada@example.com'),),
)
