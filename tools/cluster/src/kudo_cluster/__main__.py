"""The command ``kudo-cluster``: a local Kubernetes cluster from the command line.

Results go to stdout, progress and errors to stderr. Exit code 0 means success (for ``status``, that
all processes are healthy), 1 failure, 2 a wrong command line.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from kudo_cluster import progress, state
from kudo_cluster.cluster import PROFILES, Cluster, kill
from kudo_cluster.control_plane import identities, startup
from kudo_cluster.control_plane.api import health_problem
from kudo_cluster.errors import ClusterError
from kudo_cluster.layout import Layout
from kudo_cluster.processes.process import Process
from kudo_cluster.programs import binaries
from kudo_cluster.run import run
from kudo_cluster.state import Running

_DESCRIPTION = """\
A local Kubernetes cluster without Docker: etcd, kube-apiserver, kube-controller-manager and
kube-scheduler as plain processes, and one of two kinds of nodes:

  control-plane  runs without root: kwok simulates the nodes. Pods are scheduled and become ready,
                 but no container runs.
  node           needs root and a few Debian packages: containerd, kubelet, kube-proxy and CoreDNS
                 run in their own namespaces. Containers run; all of it ends with the cluster.
"""
_EPILOG = """\
The programs are built with Go once, which takes minutes, and cached in
${XDG_CACHE_HOME:-~/.cache}/kudo/bin. Set KUBEBUILDER_ASSETS to a directory with ready-made ones.

  kudo-cluster up
  export KUBECONFIG=$(kudo-cluster kubeconfig)
  kubectl get nodes
  kudo-cluster down
"""
_UP = """\
Start a cluster and leave it running. A cluster that is running already stays as it is.
"""
_DOWN = """\
Stop a cluster and delete its data. It is no error if the cluster is not running.
"""
_STATUS = """\
Show pid, port and health of each process of a cluster.
The exit code is 0 only if all of them are healthy.
"""
_KUBECONFIG = """\
Print the path of a kubeconfig of a running cluster. The identities:

  admin       all rights, for the setup
  user        a user of the CLI: all rights on KUDO's objects, read access to other objects
  webhook     the admission webhook: read access to KUDO's objects
  reconciler  the reconciler: write access to KUDO's objects and to the objects of operators
"""
_RUN = """\
Run a cluster for another program, until the input ends. stdout has one JSON object a line: first
what the program has to know about the cluster, then an answer to each line of the input:

  {"install": {"crds": "crds.yaml"}}            install KUDO; the services run as processes
  {"restart": "reconciler"}                     or webhook: kill it and start it again
  {"node": {"name": "node-1", "ready": false}}  make a simulated node unready, or ready
  {"logs": {}}                                  the end of each log
  {"keep": {}}                                  keep the cluster until SIGTERM
"""
_BUILD = """\
Build the programs of a profile unless they are cached, and print their directories.
"""
_MOST_NODES = 100


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    options = _parser().parse_args(arguments)
    commands = {
        "up": up,
        "down": down,
        "status": status,
        "kubeconfig": show_kubeconfig,
        "run": run_for_another,
        "build": build,
    }
    try:
        return commands[options.command](options)
    except ClusterError as error:
        print(f"kudo-cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("kudo-cluster: interrupted", file=sys.stderr)
        return 130


def up(options: argparse.Namespace) -> int:
    """Start a cluster and detach from it."""
    directory = _directory(options)
    record = state.read(directory)
    if record is not None and record.alive:
        print(f"cluster {record.name} ({record.profile}) runs already at {record.server}")
    else:
        cluster = Cluster.start(
            directory, name=options.name, profile=options.profile, progress=progress.default()
        )
        cluster.detach()
        print(f"cluster {cluster.name} runs at {cluster.server}")
    print(f"export KUBECONFIG={identities.path_of(directory, 'admin')}")
    return 0


def down(options: argparse.Namespace) -> int:
    """Stop a cluster and delete its data."""
    directory = _directory(options)
    if not directory.is_dir():
        print(f"no cluster in {directory}")
        return 0
    layout = Layout(directory)
    with layout.locked():
        record = state.read(directory)
        if record is not None:
            kill(record)
        layout.remove()
    print(f"no cluster in {directory}" if record is None else f"cluster {record.name} is stopped")
    return 0


def status(options: argparse.Namespace) -> int:
    """Show each process of a cluster."""
    directory = _directory(options)
    record = state.read(directory)
    if record is None:
        print(f"no cluster in {directory}")
        return 1
    print(f"cluster {record.name} ({record.profile}) at {record.server}, in {directory}")
    rows = [_silent_row("supervisor", record.supervisor)]
    if record.sandbox is not None:
        rows.append(_silent_row("sandbox", record.sandbox))
    rows += [_row(directory, running) for running in record.components]
    for row in [("COMPONENT", "PID", "PORT", "HEALTH"), *rows]:
        print(f"{row[0]:<24} {row[1]:>8} {row[2]:>6}  {row[3]}")
    return 0 if all(row[3] in {"healthy", "running"} for row in rows) else 1


def show_kubeconfig(options: argparse.Namespace) -> int:
    """Print the path of an identity's kubeconfig."""
    print(Cluster.attach(_directory(options)).kubeconfig(options.user))
    return 0


def run_for_another(options: argparse.Namespace) -> int:
    """Run a cluster until stdin ends."""
    if options.nodes > 1 and options.profile == "node":
        raise ClusterError("only simulated nodes can be several: remove --nodes")
    if options.crds is not None and not options.crds.is_file():
        raise ClusterError(f"no file of CRDs: {options.crds}")
    return run(options.dir, options.profile, options.nodes, options.crds, progress.default())


def build(options: argparse.Namespace) -> int:
    """Build the programs that are not cached and print their directories."""
    programs = binaries.obtain(progress.default(), node=options.profile == "node")
    for directory in dict.fromkeys(path.parent for path in programs.paths.values()):
        print(directory)
    return 0


def _silent_row(name: str, process: Process) -> tuple[str, str, str, str]:
    return name, str(process.pid), "-", "running" if process.alive else "dead"


def _row(directory: Path, running: Running) -> tuple[str, str, str, str]:
    if running.process.alive:
        ca = Layout(directory).pki / f"{startup.CA}.crt"
        well = health_problem(running.health, ca) or "healthy"
    else:
        well = "dead"
    return running.name, str(running.process.pid), str(running.port), well


def _directory(options: argparse.Namespace) -> Path:
    directory: Path = options.dir or state.default_directory(options.name)
    return directory.absolute()


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="kudo-cluster", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=raw
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, summary: str, text: str) -> argparse.ArgumentParser:
        parents = [] if name in {"build", "run"} else [_where()]
        return commands.add_parser(
            name, help=summary, description=text, formatter_class=raw, parents=parents
        )

    def add_profile(command: argparse.ArgumentParser) -> None:
        command.add_argument(
            "--profile", choices=PROFILES, default="control-plane", help="default: %(default)s"
        )

    add_profile(add("up", "start a cluster and leave it running", _UP))
    add("down", "stop a cluster and delete its data", _DOWN)
    add("status", "show each process and its health", _STATUS)
    show = add("kubeconfig", "print the path of a kubeconfig", _KUBECONFIG)
    show.add_argument(
        "--user", choices=identities.ROLES, default="admin", help="default: %(default)s"
    )
    running = add("run", "run a cluster for another program", _RUN)
    add_profile(running)
    running.add_argument(
        "--nodes", type=_nodes, default=1, help="simulated nodes (default: %(default)s)"
    )
    running.add_argument(
        "--dir", type=Path, help="directory of the cluster's data (default: a temporary one)"
    )
    running.add_argument(
        "--crds", type=Path, help="file of CRDs to create before the controllers start"
    )
    add_profile(add("build", "build the programs unless they are cached", _BUILD))
    return parser


def _nodes(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST_NODES:
        return int(text)
    raise argparse.ArgumentTypeError(f"use a number from 1 to {_MOST_NODES}")


def _where() -> argparse.ArgumentParser:
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument(
        "--name", type=_name, default="demo", help="the cluster's name (default: %(default)s)"
    )
    where.add_argument(
        "--dir",
        type=Path,
        help="directory of the cluster's data "
        "(default: ${XDG_STATE_HOME:-~/.local/state}/kudo/clusters/NAME)",
    )
    return where


def _name(text: str) -> str:
    # The name is used for a directory and for the context of a kubeconfig.
    if re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", text) is None:
        raise argparse.ArgumentTypeError("use lower-case letters, digits and inner hyphens")
    return text


if __name__ == "__main__":
    sys.exit(main())
