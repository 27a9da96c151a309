"""`kubectl kudo package create`: writes the archive of a package."""

import hashlib
from pathlib import Path

from kubectl_kudo.commands.package.verify import report
from kubectl_kudo.session.arguments import OUTPUT, SKIP_VERIFY, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.files import write_file
from kubectl_kudo.session.output import check_format, say, talk
from kudo.authoring.archive import archive_name, collect, pack
from kudo.packages.location import locate_in_archive, packed
from kudo.packages.reader import read_package


def run(args: Args) -> None:
    """Write the archive, and print its path and checksum.

    Raises:
        CliError: there is such a file already, or the package is not valid.
        InvalidInput: the package cannot be read.
    """
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError(
            "expecting exactly one argument - directory of the operator or name of package"
        )
    check_format(args.output)
    folder = Path(args.arguments[0]).absolute()
    if folder.exists() and not folder.is_dir():
        raise CliError(f"{folder} is not a package directory")
    target = _target(args, archive_name(read_package(folder).operator))
    collected = collect(folder, target=target)
    for path in collected.left_out:
        talk(f"left out: {path} (not a regular file)")
    data = pack(collected.files)
    # What is verified is the archive: a file may be excluded.
    located = packed(locate_in_archive(data, str(folder)), folder)
    if not args.skip_verify:
        report(located, args.output)
    try:
        write_file(target, data)
    except OSError as error:
        raise CliError(f"cannot write {target}: {error.strerror or error}") from error
    if not args.output:
        say(f"Package created: {target}")
        say(f"sha256:{hashlib.sha256(data).hexdigest()}")


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


def _target(args: Args, name: str) -> Path:
    destination = Path(args.destination).expanduser().absolute()
    if not destination.is_dir():
        raise CliError(f'destination "{destination}" is not a proper directory')
    target = destination / name
    if target.exists() and not args.overwrite:
        raise CliError(f'target file "{target}" already exists; replace it with --overwrite')
    return target
