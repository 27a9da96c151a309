"""`kubectl kudo package create`: writes the archive of a package."""

from kubectl_kudo.core.arguments import OUTPUT, SKIP_VERIFY, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError(
            "expecting exactly one argument - directory of the operator or name of package"
        )
    from kubectl_kudo.authoring.create_archive import create_archive

    create_archive(args)


COMMAND = Command(
    run,
    "<folder>",
    (
        Flag(
            ("--destination", "-d"), "folder to write to (default: the current one)", "folder", "."
        ),
        Flag(("--overwrite", "-w"), "replace an archive that exists", default=False),
        SKIP_VERIFY,
        Flag(
            OUTPUT.names,
            "yaml or json: print only what the verification finds, in this format",
            OUTPUT.value,
        ),
    ),
    more="The archive contains all regular files of the folder but those that its .kudoignore "
    "excludes, in\nthe syntax of .gitignore, and is written only if it can be read and verified. "
    "The same files make\nthe same bytes; the checksum is that of the archive.",
    examples=(
        ("Write web-0.1.0.tgz", "package create ./web"),
        ("Write it to another folder, again", "package create ./web -d ./archives --overwrite"),
    ),
)
