"""The folder of KUDO's own files: `--home`, else $KUDO_HOME, else `~/.kudo`.

repository/repositories.yaml    the repositories, as KUDO 0.19 has it
cache/                          indexes and packages that were downloaded
"""

import os
from pathlib import Path

from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.files import write_file
from kudo.api.problems import InvalidInput
from kudo.packages.repositories.settings import (
    DEFAULT_SETTINGS,
    Settings,
    read_settings,
    write_settings,
)

_MAX_SETTINGS = 1024 * 1024


def home_folder(args: Args) -> Path:
    """Return the folder; it need not exist."""
    text = args.home or os.environ.get("KUDO_HOME")
    return Path(os.path.expandvars(text)).expanduser() if text else Path.home() / ".kudo"


def settings_file(home: Path) -> Path:
    return home / "repository" / "repositories.yaml"


def load_settings(home: Path) -> Settings:
    """Return the repositories of the user; only the one that is built in where there is no file.

    Raises:
        CliError: the file cannot be read.
    """
    path = settings_file(home)
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_SETTINGS)
        return read_settings(content)
    except FileNotFoundError:
        return DEFAULT_SETTINGS
    except (OSError, InvalidInput) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CliError(
            f"could not load repositories file ({path}).\n"
            f"{why}; correct the file, or delete it to begin with the default"
        ) from error


def save_settings(home: Path, settings: Settings) -> None:
    """Write the repositories of the user.

    Raises:
        CliError: the file cannot be written.
    """
    path = settings_file(home)
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        write_file(path, write_settings(settings).encode())
    except OSError as error:
        raise CliError(f"cannot write {path}: {error.strerror or error}") from error
