"""`kubectl kudo repo remove`: removes repositories from the list of the user."""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if not args.arguments:
        raise UsageError("need at least one argument, name of operator repository")
    from kubectl_kudo.repositories.change_settings import remove

    remove(args, args.arguments)


COMMAND = Command(
    run,
    "<name>...",
    more="The names are processed in their order, up to the first that does not exist.",
    examples=(("Remove one", "repo remove own"),),
)
