"""Finds the program of a local cluster."""

import shutil
import sys
from pathlib import Path
from typing import Final

from kubectl_kudo.core.errors import CliError
from kubectl_kudo.testing.local.planned import Mapped

PROGRAM: Final = "kudo-cluster"


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
