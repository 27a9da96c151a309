"""`kubectl kudo test --new`: writes a first case for a package."""

from pathlib import Path

from kubectl_kudo.packages.package_folder import package_folder
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.files import write_file
from kubectl_kudo.session.output import say
from kubectl_kudo.session.terminal import word
from kudo.authoring.first_case import CASE, first_case
from kudo.packages.reader import read_package


def new_case(args: Args) -> None:
    """Write the first case of a package into its folder `tests/install`.

    Raises:
        UsageError: more than one package is named.
        CliError: there is such a case, or it cannot be written.
        InvalidInput: the package cannot be read.
    """
    if len(args.arguments) > 1:
        raise UsageError("expecting at most one argument - folder of the operator")
    package = Path(args.arguments[0]) if args.arguments else package_folder()
    if package.is_file():
        raise CliError(f"{package} is an archive; a case is written into the folder of a package")
    case = first_case(read_package(package))
    folder = package / CASE
    texts = case.files()
    try:
        folder.parent.mkdir(exist_ok=True)
        folder.mkdir()
        for name, text in texts.items():
            write_file(folder / name, text.encode())
    except FileExistsError:
        raise CliError(f"{folder} exists; --new writes only the first case of a package") from None
    except OSError as error:
        raise CliError(f"cannot write {folder}: {error.strerror or error}") from error
    for name in texts:
        say(f"written: {folder / name}")
    for name, value in case.values.items():
        asked = f"{name} has no default; is {value} a good value? It stands in 00-install.yaml"
        say(word(asked))
    say(f"Run it with `kubectl kudo test {_shown(package)}`.")


def _shown(package: Path) -> str:
    return str(package) if package.is_absolute() else f"./{package}"
