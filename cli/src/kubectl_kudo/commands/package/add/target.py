"""What the commands of `package add` share: flags, and the package that they change."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from goyaml import NotTextError, decode
from kubectl_kudo.packages.package_folder import package_folder, write_changes
from kubectl_kudo.session.arguments import Args, Flag
from kubectl_kudo.session.asking import on_terminal
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.output import talk
from kudo.authoring.edit import Addition, added, files_of
from kudo.packages.files import PackageFiles
from kudo.packages.model import Package
from kudo.packages.reader import parse_package

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
TEMPLATES = "templates"


@dataclass(frozen=True, slots=True)
class Target:
    """A package in a folder, as it is now.

    Attributes:
        folder: The folder.
        files: Its files.
        package: What they say.
    """

    folder: Path
    files: PackageFiles
    package: Package

    def with_additions(self, file: str, *additions: Addition) -> str:
        """Return the text of a file with items added to it.

        Raises:
            CliError: the file is not text.
            InvalidInput: it cannot be changed.
        """
        try:
            text = decode(self.files.files[file])
        except NotTextError as error:
            raise CliError(f"{self.folder / file}: {error.reason}") from error
        for addition in additions:
            text = added(file, text, addition)
        return text

    def has_template(self, name: str) -> bool:
        return name in self.package.templates or (self.folder / TEMPLATES / name).exists()

    def write(self, changes: Mapping[str, str], what: str) -> None:
        """Write the changes once the package with them was verified.

        Raises:
            CliError: the package would have errors that it does not have now.
        """
        write_changes(self.folder, self.files, changes)
        talk(f"added {what}: {', '.join(str(self.folder / path) for path in sorted(changes))}")


def target_of(args: Args) -> Target:
    """Return the package of `--folder`, or the one that is found.

    Raises:
        CliError: there is none, or more than one.
        InvalidInput: it cannot be read.
    """
    folder = Path(args.folder).expanduser() if args.folder else package_folder()
    if not folder.is_dir():
        raise CliError(f'"{folder}" is not a folder')
    files = files_of(folder)
    return Target(folder, files, parse_package(files))


def template_file(name: str) -> str:
    """Return the name of a template, with `.yaml` unless it has an ending.

    Raises:
        CliError: it is not the name of a file below `templates`.
    """
    parts = name.split("/")
    if any(part in {"", ".", ".."} for part in parts) or not name.isprintable():
        raise CliError(f'"{name}" is not the name of a template; it is relative to {TEMPLATES}/')
    file = name if "." in parts[-1] else f"{name}.yaml"
    if ".yaml" not in file:
        raise CliError(f'"{name}" is not the name of a template; templates end with .yaml')
    return file


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
    if not on_terminal():
        raise UsageError(
            f"expecting exactly one argument - name of the {what}. Or use -i for interactive mode"
        )
    return True
