"""`kubectl kudo repo context`: chooses the repository that commands use by default."""

from kubectl_kudo.repositories.home import home_folder, load_settings, save_settings
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError


def run(args: Args) -> None:
    """Make a repository the one that commands use by default.

    Raises:
        InvalidInput: there is none of that name.
    """
    if len(args.arguments) != 1:
        raise UsageError("need at least one argument, name of operator repository")
    home = home_folder(args)
    save_settings(home, load_settings(home).with_context(args.arguments[0]))


COMMAND = Command(
    run,
    "<name>",
    examples=(("Install from one's own repository", "repo context own"),),
)
