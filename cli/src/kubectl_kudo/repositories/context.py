"""`kubectl kudo repo context`: chooses the repository that commands use by default."""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) != 1:
        raise UsageError("need at least one argument, name of operator repository")
    from kubectl_kudo.repositories.change_settings import set_context

    set_context(args, args.arguments[0])


COMMAND = Command(
    run,
    "<name>",
    examples=(("Install from one's own repository", "repo context own"),),
)
