"""Finds the programs of a local cluster: `kudo-cluster`, and the plugin itself for commands."""

import shutil
import sys
from pathlib import Path
from typing import Final

from kubectl_kudo.core.errors import CliError
from kubectl_kudo.testing.local.planned import Mapped

PROGRAM: Final = "kudo-cluster"
_PLUGIN: Final = "kubectl-kudo"


def cluster_program(asked: Mapped | None, *, python: str = sys.executable) -> Path:
    """Return the path of `kudo-cluster`: on the PATH, or beside the running Python.

    Raises:
        CliError: it is in neither; with the line of the suite that needs it.
    """
    if found := shutil.which(PROGRAM):
        return Path(found)
    beside = Path(python).with_name(PROGRAM)
    if beside.is_file():
        return beside
    needed = f"{asked.place}: {asked.asked} needs" if asked else "a local cluster needs"
    raise CliError(
        f"{needed} the program {PROGRAM}, which is neither on the PATH nor beside {python}: "
        "install it with the services from the repository of KUDO (make setup; see "
        "docs/local-cluster.md), or run the suite on another cluster with --kubeconfig"
    )


def plugin_folder(program: str = sys.argv[0], python: str = sys.executable) -> Path | None:
    """Return the folder of this plugin, so that commands find it as `kubectl kudo`.

    None if the plugin runs in another way, such as by `python -m`, and is not beside Python.
    """
    for path in (Path(program), Path(python).with_name(_PLUGIN)):
        if path.name == _PLUGIN and path.is_file():
            return path.absolute().parent
    return None
