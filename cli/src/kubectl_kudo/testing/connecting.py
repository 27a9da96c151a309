"""Connects to the cluster of a run, and makes what commands of a suite need there."""

import json
import shlex
import sys
import zipfile
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubectl_kudo import __version__
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.files import write_file
from kubectl_kudo.session.output import say
from kubectl_kudo.session.session import connect, identity_of
from kubectl_kudo.session.verbosity import tracer_of
from kubectl_kudo.testing.local.cluster import RunningCluster
from kubectl_kudo.testing.local.planned import Plan, Where
from kubectl_kudo.testing.target import Target
from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.connection.minified import minified_kubeconfig

_PLUGIN: Final = "kubectl-kudo"
_TIMEOUT: Final = 30.0
"""Seconds of a request, where no flag says."""


@dataclass(frozen=True, slots=True)
class Connected:
    """The cluster of a run.

    Attributes:
        target: The cluster, as the parts of a run see it.
        own: The cluster, if the harness started it.
    """

    target: Target
    own: RunningCluster | None


def connected(args: Args, plan: Plan, folder: Path) -> AbstractAsyncContextManager[Connected]:
    """Start the cluster that the plan asks for, or connect to the one that the flags name.

    Args:
        args: The flags.
        plan: Where the suite runs.
        folder: The folder of the run.

    Raises:
        CliError: the cluster cannot be started, or a name is not valid.
        ConfigError: there is no configuration of a cluster, or it cannot be used.
    """
    if plan.where is Where.OWN:
        return _own_cluster(args, plan, folder)
    return _given_cluster(args, folder)


@asynccontextmanager
async def _own_cluster(args: Args, plan: Plan, folder: Path) -> AsyncIterator[Connected]:
    cluster = await RunningCluster.start(plan)
    try:
        config = load_config(cluster.kubeconfig, user_agent=f"kubectl-kudo/{__version__}")
        timeout = float(args.request_timeout) or _TIMEOUT
        async with Client(config, timeout=timeout, tracer=tracer_of(args)) as client:
            target = Target(
                client=client,
                kubeconfig=cluster.kubeconfig,
                programs=(*_programs(folder), *cluster.programs),
                local=cluster,
                faults=True,
            )
            yield Connected(target, cluster)
    finally:
        await cluster.stop()


@asynccontextmanager
async def _given_cluster(args: Args, folder: Path) -> AsyncIterator[Connected]:
    path = folder / "kubeconfig"
    kubeconfig = minified_kubeconfig(
        args.kubeconfig or None, context=args.context or None, identity=identity_of(args)
    )
    write_file(path, json.dumps(kubeconfig).encode(), mode=0o600)
    # A suite may install KUDO itself.
    unchecked = Namespace(**{**vars(args), "validate_install": False})
    async with connect(unchecked) as session:
        say(f"The cluster is that of context {kubeconfig['current-context']}")
        target = Target(
            client=session.client,
            kubeconfig=path,
            programs=_programs(folder),
            local=None,
            faults=args.allow_faults,
        )
        yield Connected(target, None)


def _programs(folder: Path) -> tuple[Path, ...]:
    """Return the folders that come first in the PATH of commands.

    The first has `kubectl-kudo`, so that `kubectl kudo` is this program. The second is `bin` in the
    working directory, as with kuttl.
    """
    own = folder / "programs"
    own.mkdir()
    _write_plugin(own / _PLUGIN)
    return own, Path("bin").absolute()


def _write_plugin(path: Path) -> None:
    python, program = shlex.quote(sys.executable), Path(sys.argv[0]).absolute()
    # The single file of a release has its packages in itself, where no other Python finds them.
    if program.is_file() and zipfile.is_zipfile(program):
        line = f"{python} {shlex.quote(str(program))}"
    else:
        # -P: a file of the suite must not replace a module of the same name.
        line = f"{python} -P -m kubectl_kudo"
    path.write_text(f'#!/bin/sh\nexec {line} "$@"\n')
    path.chmod(0o700)
