"""The release before this one, run from its sources; no tests of its own.

Its sources are those of a commit of this repository. It has an environment of its own, since the
worker processes of a service read no environment variables.
"""

import subprocess
import sys
import sysconfig
import tarfile
import venv
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from kudo_cluster.installation import Service

COMMIT = "849ef57b3402a671038cdabb80cae0b9600b6df4"
"""Its records have no `leaving`, and up to 16 names on a cluster-scoped object are all to it."""


@dataclass(frozen=True)
class Release:
    """A release that can run services.

    Attributes:
        python: Its interpreter.
    """

    python: Path

    @classmethod
    def unpack(cls, root: Path, directory: Path) -> "Release":
        """Unpack the sources, and make an environment that imports them.

        Args:
            root: The repository, with its history.
            directory: An empty directory.
        """
        archive = subprocess.run(
            ["git", "-C", str(root), "archive", "--format=tar", COMMIT, "libs", "services"],
            check=False,
            capture_output=True,
        )
        assert archive.returncode == 0, f"no history of the repository: {archive.stderr.decode()}"
        sources = directory / "sources"
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
            files.extractall(sources, filter="data")
        environment = directory / "environment"
        venv.create(environment, symlinks=True)
        paths = sorted(map(str, sources.glob("*/*/src")))
        installed = sysconfig.get_path("purelib")
        site = sysconfig.get_path("purelib", vars={"base": str(environment)})
        # As a path of its own its .pth files do not count, so none of today's sources do.
        Path(site, "former.pth").write_text("\n".join([*paths, installed]) + "\n", "utf-8")
        return cls(environment / "bin" / Path(sys.executable).name)

    def runs(self, service: Service) -> Service:
        """Have a service run this release; its command begins with its program."""
        name = f"kudo_{service.name.partition('-')[0]}"
        program = f"from {name}.__main__ import main; main()"
        service.command[:1] = [str(self.python), "-c", program]
        return service
