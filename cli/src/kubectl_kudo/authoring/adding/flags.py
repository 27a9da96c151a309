"""What the commands of `package add` share."""

from kubectl_kudo.core.arguments import Args, Flag
from kubectl_kudo.core.errors import UsageError

INTERACTIVE = Flag(("--interactive", "-i"), "ask for everything", default=False)
FOLDER = Flag(
    ("--folder",), "folder of the package (default: the current one or the one in it)", "folder"
)
COMMON = (INTERACTIVE, FOLDER)
HELP = (
    "The item is inserted behind the others; comments and order of the file stay. Nothing is "
    "written\nif the package would have errors that it does not have now. Without arguments, the "
    "command asks\nif it runs on a terminal."
)


def is_asked(args: Args, what: str) -> bool:
    """Return whether to ask for the item.

    Raises:
        UsageError: nobody can be asked, and the command line does not name the item.
    """
    if len(args.arguments) > 1:
        raise UsageError(f"expecting at most one argument - name of the {what}")
    if args.interactive:
        return True
    if args.arguments and args.arguments[0]:
        return False
    from kubectl_kudo.authoring.asking import on_terminal

    if not on_terminal():
        raise UsageError(
            f"expecting exactly one argument - name of the {what}. Or use -i for interactive mode"
        )
    return True
