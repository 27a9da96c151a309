"""`kubectl kudo repo remove`: removes repositories from the list of the user."""

from kubectl_kudo.repositories.home import home_folder, load_settings, save_settings
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.output import say, talk
from kudo.packages.repositories.settings import BUILT_IN


def run(args: Args) -> None:
    """Remove repositories; those before one that does not exist stay removed.

    Raises:
        InvalidInput: there is none of a name.
    """
    if not args.arguments:
        raise UsageError("need at least one argument, name of operator repository")
    home = home_folder(args)
    settings = load_settings(home)
    for name in args.arguments:
        before, settings = settings, settings.without(name)
        save_settings(home, settings)
        say(f'"{name}" has been removed from your repositories')
        if settings.context != before.context:
            talk(f'"{BUILT_IN}" is now the repository that commands use by default')


COMMAND = Command(
    run,
    "<name>...",
    more="The names are processed in their order, up to the first that does not exist.",
    examples=(("Remove one", "repo remove own"),),
)
