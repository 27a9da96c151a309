"""Runs suites: once, or again when their files change; on a given cluster, or on one of its own."""

import asyncio
import json
import os
import shlex
import shutil
import sys
import tempfile
import zipfile
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Final

from kubectl_kudo.commands.test.host import HOST
from kubectl_kudo.commands.test.invocation import Prepared, prepare, suite_invalid, tell
from kubectl_kudo.commands.test.leftovers import PREFIX, records
from kubectl_kudo.commands.test.live import log_on_stdout, shown, write_artifact, write_report
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.files import write_file
from kubectl_kudo.session.output import say, talk, warn
from kubectl_kudo.session.session import connect, identity_of
from kubectl_kudo.session.verbosity import tracer_of
from kubeio.client import Client
from kubeio.connection.config import load_config, minified_kubeconfig
from kudo_harness.checks.fields import check_fields
from kudo_harness.checks.kinds import check_kinds, known_kinds
from kudo_harness.findings import Findings, SuiteInvalid
from kudo_harness.host import HarnessError
from kudo_harness.planning.plan import Plan, Where
from kudo_harness.report import SuiteResult, summary
from kudo_harness.running.log import RunOptions
from kudo_harness.running.run import run_suite
from kudo_harness.running.waiting import Interruption, listening
from kudo_harness.target import RunningCluster, Target, attached_logs
from kudo_harness.watching import NO_FILES, State, Watched, changes, only, watched

_PLUGIN: Final = "kubectl-kudo"
_TIMEOUT: Final = 30.0
"""Seconds of a request, where no flag says."""


def connected(args: Args, plan: Plan, folder: Path) -> AbstractAsyncContextManager[Target]:
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
async def _own_cluster(args: Args, plan: Plan, folder: Path) -> AsyncIterator[Target]:
    cluster = await RunningCluster.start(plan, files("kubectl_kudo") / "manifests" / "crds.yaml")
    try:
        config = load_config(cluster.kubeconfig, user_agent=HOST.user_agent)
        timeout = float(args.request_timeout) or _TIMEOUT
        async with Client(config, timeout=timeout, tracer=tracer_of(args)) as client:
            yield Target(
                client=client,
                kubeconfig=cluster.kubeconfig,
                programs=(*_programs(folder), *cluster.programs),
                local=cluster,
                faults=True,
                host=HOST,
            )
    finally:
        await cluster.stop()


@asynccontextmanager
async def _given_cluster(args: Args, folder: Path) -> AsyncIterator[Target]:
    path = folder / "kubeconfig"
    kubeconfig = minified_kubeconfig(
        args.kubeconfig or None, context=args.context or None, identity=identity_of(args)
    )
    write_file(path, json.dumps(kubeconfig).encode(), mode=0o600)
    # A suite may install KUDO itself.
    unchecked = Namespace(**{**vars(args), "validate_install": False})
    async with connect(unchecked) as session:
        say(f"The cluster is that of context {kubeconfig['current-context']}")
        yield Target(
            client=session.client,
            kubeconfig=path,
            programs=_programs(folder),
            local=None,
            faults=args.allow_faults,
            host=HOST,
        )


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


_LOGS: Final = "cluster-logs"
"""Folder of the logs of a local cluster, in that of artifacts."""


def run_suites(args: Args) -> None:
    """Run the cases that the command line names, and write the report.

    Raises:
        UsageError: a flag has a value that it cannot have.
        CliError: the suite is not valid, the cluster cannot be used, or a case failed.
        KeyboardInterrupt: a signal ended the run; what it made is deleted.
    """
    session = _Session(args)
    tell(session.prepared)
    try:
        result = asyncio.run(session.run())
    except HarnessError as error:
        raise CliError(str(error)) from error
    if result is None or result.interrupted:
        raise KeyboardInterrupt
    if result.failure is not None:
        raise CliError(result.failure.message, code=ExitCode.TEST_FAILED)
    if not result.passed:
        passed = [case.passed for _, case in result.cases]
        noun = "case" if len(passed) == 1 else "cases"
        text = f"{passed.count(False)} of {len(passed)} {noun} did not pass"
        raise CliError(text, code=ExitCode.TEST_FAILED)


@dataclass(slots=True)
class _Session:
    """The cluster of one command, and the runs on it.

    Attributes:
        args: The flags.
        prepared: What runs next.
        files: The files of the whole suite, with `--watch`.
        state: Their state before they were read for the last run.
        changed: The folders of cases that run next, whose files have changed.
    """

    args: Args
    prepared: Prepared = field(init=False)
    interruption: Interruption = field(default_factory=Interruption)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    files: Watched = NO_FILES
    state: State = field(default_factory=dict)
    changed: set[Path] = field(default_factory=set)
    target: Target | None = None
    result: SuiteResult | None = None
    runs: int = 0

    def __post_init__(self) -> None:
        self.prepared = self._read()
        self.changed.clear()

    async def run(self) -> SuiteResult | None:
        """Run the suite; return its last result, or None if a signal came before the first."""
        interruption = self.interruption
        with _session_folder() as folder, listening(interruption):
            try:
                if await interruption.until_interrupted(self._connect(folder)):
                    await self._once(folder)
                    while self.args.watch and not interruption.received:
                        if await interruption.until_interrupted(self._until_changed()):
                            tell(self.prepared, again=True)
                            await self._once(folder)
            finally:
                # The first signal ends the run; only another one ends this as well.
                await interruption.until_interrupted(self._disconnect(), endures=1)
        return self.result

    async def _connect(self, folder: Path) -> None:
        target = connected(self.args, self.prepared.plan, folder)
        self.target = await self.stack.enter_async_context(target)
        local = self.target.local
        if local is not None and self.prepared.suite.options.attach_control_plane_output:
            await self.stack.enter_async_context(attached_logs(local.log_folders, talk))

    async def _disconnect(self) -> None:
        """End a local cluster, unless the suite or a flag asks to let it run on."""
        local = self.target.local if self.target else None
        try:
            if local is not None and self.prepared.suite.options.skip_cluster_delete:
                how = await local.keep()
                say(f"The cluster runs on: export KUBECONFIG={local.kubeconfig}; {how} ends it")
        finally:
            await self.stack.aclose()

    def _read(self) -> Prepared:
        """Read the whole suite, with `--watch` so that no change of its files is lost.

        Their state is noted before they are read, so what is saved later is seen after the run.
        Which files they are is known only when they are read: if they are others, they are read
        again.

        Raises:
            UsageError, CliError: see `prepare`.
        """
        while True:
            read = prepare(self.args)
            if not self.args.watch:
                return read
            files = watched(read.suite, read.file)
            if files == self.files:
                return read
            self._note(files.state())
            self.changed |= {*files.cases} - {*self.files.cases}
            self.files = files

    def _note(self, state: State) -> None:
        """Note the state of the files, and the cases for which it is not what it was."""
        self.changed |= self.files.changed(self.state, state)
        self.state = state

    async def _once(self, folder: Path) -> None:
        assert self.target is not None
        suite, plan = self.prepared.suite, self.prepared.plan
        await self._check_kinds(self.target.client)
        self.runs += 1
        own = folder / str(self.runs)
        own.mkdir()
        log = log_on_stdout(len(list(suite.cases)), verbose=bool(self.args.v))
        options = RunOptions(
            folder=own,
            working_folder=Path.cwd(),
            environment=dict(os.environ),
            interruption=self.interruption,
        )
        try:
            async with shown(log):
                self.result = await run_suite(suite, plan, self.target, options, log)
        except SuiteInvalid as error:
            raise suite_invalid(error) from None
        await self._report(self.result, self.target)

    async def _check_kinds(self, client: Client) -> None:
        """Find objects of kinds that the cluster does not have, and fields that kinds do not have.

        Raises:
            CliError: there are some; the text lists all of them.
        """
        findings, suite = Findings(), self.prepared.suite
        kinds = await known_kinds(client)
        check_kinds(suite, kinds, findings, kudo_installed=self.prepared.plan.installs_kudo)
        await check_fields(client, suite, kinds, findings)
        try:
            for finding in findings.check():
                warn(str(finding))
        except SuiteInvalid as error:
            raise suite_invalid(error) from None

    async def _report(self, result: SuiteResult, target: Target) -> None:
        options, local = self.prepared.suite.options, target.local
        print(summary(result), end="", flush=True)
        path = write_report(result, options)
        if path is not None:
            say(f"Report: {path}")
        if options.artifacts_dir and not (result.passed or self.interruption.received) and local:
            # They may tell why a case failed.
            folder = Path(options.artifacts_dir, _LOGS)
            for name, text in (await local.logs()).items():
                write_artifact(folder / f"{name}.log", text.encode(errors="replace"))
            say(f"Logs of the cluster: {folder}")

    async def _until_changed(self) -> None:
        """Wait until files of cases change; these cases run next."""
        while True:
            count = len(self.files.cases)
            talk(f"Watching the files of {count} {'case' if count == 1 else 'cases'}; Ctrl-C ends.")
            # Noted before they are read and anything is told of them: at that moment a file may
            # be saved again.
            self._note(await changes(self.files, self.state))
            try:
                read = self._read()
            except CliError as error:
                # Whoever writes a file saves it before it is complete.
                talk(f"Error: {error}")
                continue
            run = only(read.suite, self.changed)
            if run.test_dirs:
                self.prepared = replace(read, suite=run)
                self.changed.clear()
                return


@contextmanager
def _session_folder() -> Iterator[Path]:
    """Make the temporary folder of a command, with one for each of its runs.

    It stays if the record of a run names what was not deleted: that needs the kubeconfig in it.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        yield folder
    finally:
        if not any(records(folder)):
            shutil.rmtree(folder, ignore_errors=True)
