"""`kubectl kudo package params import`: adds the parameters that a JSON Schema describes."""

from pathlib import Path

from goyaml import NotTextError, decode
from kubectl_kudo.packages.package_folder import check_changes, package_folder, write_changes
from kubectl_kudo.session.arguments import Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError
from kubectl_kudo.session.output import talk, warn
from kudo.api.problems import InvalidInput, Problem
from kudo.authoring.edit import Addition, added, files_of
from kudo.authoring.json_schema import MOST_BYTES
from kudo.authoring.schema_parameters import parameters_of
from kudo.packages.files import PARAMETERS_FILE, PackageFiles
from kudo.packages.model import PackageParameter
from kudo.packages.reader import parse_parameters


def run(args: Args) -> None:
    """Add the parameters that the package lacks.

    Raises:
        CliError: a file cannot be read or written, or the package would have errors.
        InvalidInput: the file is no JSON Schema, or the package cannot be read.
    """
    if not 1 <= len(args.arguments) <= 2:
        raise UsageError(
            "expecting a file with a JSON Schema, and at most one directory of an operator"
        )
    schema = Path(args.arguments[0]).expanduser()
    folder = Path(args.arguments[1]).expanduser() if args.arguments[1:] else package_folder()
    if not folder.is_dir():
        raise CliError(f'"{folder}" is not a folder')
    imported = parameters_of(str(schema), _content(schema))
    files = files_of(folder)
    missing, conflicts = imported.beside(_parameters(files))
    text = _text(folder, files)
    if missing:
        text = added(
            PARAMETERS_FILE, text, Addition("parameters", missing[0], more=(*missing[1:],))
        )
    changes = {PARAMETERS_FILE: text}
    # Before the first warning: what is refused needs none.
    check_changes(folder, files, changes)
    for loss in imported.losses:
        warn(f"{schema}{loss}")
    for conflict in conflicts:
        warn(conflict)
    if args.dry_run:
        print(text, end="")
        return
    if missing:
        write_changes(folder, files, changes)
    place = folder / PARAMETERS_FILE
    there = len(imported.parameters) - len(missing)
    kept = f"; it has {there} already" if there else ""
    talk(f"added {_counted(len(missing))}: {place}{kept}")


COMMAND = Command(
    run,
    "file [folder]",
    (Flag(("--dry-run",), "print params.yaml as it would be, and write nothing", default=False),),
    more="The file is a JSON Schema of draft 4 to 2020-12, such as values.schema.json of a Helm "
    "chart. Each of\nits properties becomes a parameter with type, default, enum, description and "
    "bounds; an object\nbecomes a map with definitions of its keys. Parameters that the package "
    "has are kept, so the\ncommand can run again after a change of the schema.\n\n"
    "What parameters cannot say, such as conditions, is left out with a warning that says where "
    "it\nstands. References within the file are followed; nothing is downloaded. Nothing is "
    "written if the\npackage would have errors that it does not have now.\n\n"
    "Without a folder, the package is the working directory or the only folder in it that is one.",
    examples=(
        ("Take the values of a chart over", "package params import values.schema.json ./web"),
        (
            "Print what params.yaml would be",
            "package params import values.schema.json ./web --dry-run",
        ),
    ),
)


def _content(path: Path) -> bytes:
    """Return the content of a file, or the beginning of one that is too large.

    Raises:
        CliError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise CliError(f"there is no file {path}", code=ExitCode.NOT_FOUND) from error
    except OSError as error:
        raise CliError(f"cannot read {path}: {error.strerror or error}") from error


def _parameters(files: PackageFiles) -> tuple[PackageParameter, ...]:
    problems: list[Problem] = []
    parameters, _ = parse_parameters(files.files.get(PARAMETERS_FILE, b""), problems)
    if problems:
        raise InvalidInput(problems)
    return parameters


def _text(folder: Path, files: PackageFiles) -> str:
    try:
        return decode(files.files.get(PARAMETERS_FILE, b""))
    except NotTextError as error:
        raise CliError(f"{folder / PARAMETERS_FILE}: {error.reason}") from error


def _counted(number: int) -> str:
    return f"{number} parameter" if number == 1 else f"{number or 'no'} parameters"
