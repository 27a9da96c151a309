"""`python -m tools.compose`: start docker-compose.yml and use it as the README says.

The file runs as it is, with override.yml for the images that only a registry has, on a Docker
engine of our own (engine.py). Then the README's commands run an operator, every service restarts,
and all is taken away, whatever happens. Exit codes: 0 all worked, 1 something failed.
"""

import argparse
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kudo_cluster.errors import ClusterError
from kudo_cluster.programs import binaries
from kudo_cluster.progress import Progress, default
from tools import needs
from tools.compose import engine, project, stand_ins
from tools.compose.engine import ComposeError, Engine
from tools.compose.project import Project
from tools.compose.use import COMMANDS, INSTANCE, Use
from tools.images import __main__ as images
from tools.images.archive import Archive
from tools.images.commands import DeliveryError
from tools.images.version import REVISION, ROOT, current

OURS = ("webhook", "reconciler")
SERVICES = ("k3s", *OURS, "prometheus", "grafana")
"""What runs until it is stopped, in the order in which it restarts."""
_HEALTHY_SECONDS = 180
_DEFAULT_NETWORKS = {"bridge", "host", "none"}


def run(program: Sequence[str], archives: Path, say: Progress) -> None:
    """Check, build what is missing, start, use, restart, and take away.

    Args:
        program: docker-compose, or what stands for it.
        archives: has the archives of our images, or receives them.
        say: receives a line for each step.

    Raises:
        Missing: something is missing.
        ComposeError, ClusterError, DeliveryError: something did not happen.
    """
    needs.check("compose", compose=program[0])
    say("the control plane of kudo-cluster, which stands for k3s")
    programs = binaries.obtain(say)
    if lacking := [name for name in OURS if not _is_current(archives, name)]:
        images.build(lacking, archives, None, say)
    directory = Path(tempfile.mkdtemp(prefix="kudo-compose-"))
    say(f"starting a Docker engine of its own in {directory}")
    with engine.running(directory, ROOT) as docker:
        for name in OURS:
            say(f"loading {archives / f'kudo-{name}.tar'}")
            docker.docker("load", f"--input={archives / f'kudo-{name}.tar'}")
        say("making the images that stand for k3s, Prometheus and Grafana")
        stand_ins.make(docker, programs)
        project.link(ROOT, directory / "project")
        running = Project(program, docker, directory / "project")
        try:
            _use(running, Use(running, programs), say)
        except ComposeError as error:
            raise ComposeError(f"{error}\n{running.state()}") from None
        say("docker-compose down")
        running.run("down", "--volumes")
        _check_nothing_is_left(docker)
    if directory.exists():
        raise ComposeError(f"{directory} is left")


def _use(running: Project, use: Use, say: Progress) -> None:
    say(f"docker-compose {running.version()} up")
    running.run("up", "--detach", "--no-build")
    for name in OURS:
        running.until_healthy(name, _HEALTHY_SECONDS)
    say("the commands of the README")
    for line in COMMANDS:
        use.command(line)
    use.scraped()
    say(f"Prometheus: {' and '.join(OURS)} are targets that are up")
    queries, answered = use.charted()
    say(f"Grafana's data source answers {queries} queries of the dashboard, {answered} with data")
    for number, name in enumerate(SERVICES):
        say(f"docker-compose restart {name}")
        running.run("restart", name)
        running.until_healthy(name, _HEALTHY_SECONDS)
        if name == "grafana":
            use.answers()
        elif name == "prometheus":
            use.scraped()
        else:
            use.command(
                f"kubectl kudo update --instance {INSTANCE} -p replicas={number + 1} --wait"
            )
        say(f"{name} has recovered")
    use.scraped()


def _is_current(archives: Path, name: str) -> bool:
    """Return whether `make images` has built the archive from what is checked out."""
    path, version = archives / f"kudo-{name}.tar", current()
    if not path.exists() or version.changed:
        return False
    labels = Archive(path).image()["config"].get("Labels", {})
    return bool(labels.get(REVISION) == version.revision)


def _check_nothing_is_left(docker: Engine) -> None:
    networks = set(docker.docker("network", "ls", "--format={{.Name}}").split())
    left = {
        "containers": docker.docker("ps", "--all", "--format={{.Names}}").split(),
        "volumes": docker.docker("volume", "ls", "--quiet").split(),
        "networks": sorted(networks - _DEFAULT_NETWORKS),
    }
    if remains := {kind: names for kind, names in left.items() if names}:
        raise ComposeError(f"`docker-compose down` has left {remains}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.compose", description=__doc__)
    parser.add_argument("--archives", type=Path, default=Path(".kudo/images"), metavar="DIRECTORY")
    parser.add_argument(
        "--program", default="docker-compose", metavar="COMMAND", help="that reads the file"
    )
    options = parser.parse_args()
    # SIGTERM must run the `finally` blocks too: they stop the engine.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    say, began = default(), time.monotonic()

    def timed(line: str) -> None:
        say(f"==> {time.monotonic() - began:4.0f} s  {line}")

    try:
        run(shlex.split(options.program), options.archives.absolute(), timed)
    except (ComposeError, ClusterError, DeliveryError, needs.Missing) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    timed("docker-compose.yml works, and nothing of it is left")


if __name__ == "__main__":
    main()
