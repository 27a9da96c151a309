"""Reads and plans the run that a command line asks for; all that is wrong is told before it starts.

Flags replace options of the suite file, and say where the suite runs.
"""

import asyncio
import atexit
import os
import re
import secrets
import shutil
import string
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import goyaml
from kubectl_kudo.commands.test.host import HOST, kudo_verdict
from kubectl_kudo.commands.test.live import report_path
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError
from kubectl_kudo.session.output import say, warn
from kubectl_kudo.session.session import check_names
from kubectl_kudo.session.terminal import clean
from kubeio.names import MAX_LABEL
from kudo_harness.expressions import Expressions
from kudo_harness.findings import Findings, Place, SuiteInvalid
from kudo_harness.planning.plan import Plan, PlanOptions
from kudo_harness.planning.planner import plan_run
from kudo_harness.running.downloads import UnpackedCases, fetch_cases
from kudo_harness.suite import (
    Granularity,
    ListMatching,
    ReportFormat,
    Suite,
    SuiteOptions,
    SuiteRequest,
    Text,
    load_suite,
)

COMMAND_LINE: Final = Place("command line")
NOT_SET: Final = ""
"""The value of a flag that is not given."""
_SUPPRESSED: Final = "events"


def overridden(options: SuiteOptions, args: Args) -> SuiteOptions:
    """Return the options with the values of flags in place of those of the file.

    The flags that choose a cluster are left out: the plan of the run reads them itself.

    Raises:
        UsageError: a flag has a value that it cannot have.
    """
    return replace(
        options,
        crd_dir=_text(args.crd_dir) if args.crd_dir else options.crd_dir,
        manifest_dirs=tuple(map(_text, words(args.manifest_dir))) or options.manifest_dirs,
        report_format=ReportFormat(args.report) if args.report else options.report_format,
        report_name=args.report_name or options.report_name,
        report_granularity=Granularity(args.report_granularity or options.report_granularity),
        artifacts_dir=args.artifacts_dir or options.artifacts_dir,
        namespace=args.namespace or options.namespace,
        parallel=args.parallel if args.parallel > 0 else options.parallel,
        # kuttl: a 0 that is given is no limit for commands, and the default for asserts.
        timeout=args.timeout if args.timeout > 0 else options.timeout,
        command_timeout=args.timeout if args.timeout >= 0 else options.command_timeout,
        list_matching=ListMatching(args.list_matching or options.list_matching),
        suppress=frozenset(_suppressed(args.suppress_log)) or options.suppress,
        skip_delete=_switch(args.skip_delete, options.skip_delete),
        skip_cluster_delete=_switch(args.skip_cluster_delete, options.skip_cluster_delete),
        attach_control_plane_output=_switch(
            args.attach_control_plane_output, options.attach_control_plane_output
        ),
    )


def words(values: list[str]) -> list[str]:
    """Return what a flag lists, over all the times that it is given, separated by commas."""
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def _text(folder: str) -> Text:
    return Text(folder, COMMAND_LINE)


def _switch(given: object, otherwise: bool) -> bool:
    return otherwise if given == NOT_SET else bool(given)


def _suppressed(values: list[str]) -> Iterator[str]:
    for word in words(values):
        if word.lower() != _SUPPRESSED:
            raise UsageError(f'--suppress-log: only events can be suppressed, not "{word}"')
        yield _SUPPRESSED


def plan_options(args: Args) -> PlanOptions:
    """Return the flags that say where a suite runs; None for those that are not given."""
    return PlanOptions(
        kubeconfig=args.kubeconfig or None,
        context=args.context or None,
        start_control_plane=_asked(args.start_control_plane),
        start_kind=_asked(args.start_kind),
        start_kudo=_asked(args.start_kudo),
        kind_config=args.kind_config or None,
        kind_context=args.kind_context or None,
        folder=Path.cwd(),
        environment=dict(os.environ),
        allow_faults=args.allow_faults,
    )


def _asked(value: object) -> bool | None:
    return None if value == NOT_SET else bool(value)


_UNPACKED: Final[dict[tuple[str, ...], list[UnpackedCases]]] = {}
"""By URLs; `--watch` reads the suite again and again, also while an event loop runs."""
PREFIX: Final = "kudo-test"
_RANDOM: Final = 4
_CHARACTERS: Final = string.ascii_lowercase + string.digits
_MOST: Final = MAX_LABEL - len(PREFIX) - _RANDOM - 2
"""Characters of the name of a case that have room."""
_LABEL = re.compile(r"(?:[A-Za-z0-9](?:[-.A-Za-z0-9]{0,251}[A-Za-z0-9])?/)?[A-Za-z0-9_.-]{1,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_suite(args: Args, file: Path | None) -> Suite:
    """Read the suite, with the flags that are given in place of what its file says.

    Args:
        args: The flags.
        file: The suite file; None if there is none.

    Raises:
        UsageError: a flag has a value that it cannot have.
        CliError: something is wrong with the suite; the text lists all of it.
    """
    check_names(args)
    request = replace(_request(args), config=file)
    try:
        suite = with_archives(load_suite(request), request)
    except SuiteInvalid as error:
        raise suite_invalid(error) from None
    return replace(suite, options=overridden(suite.options, args))


def suite_invalid(error: SuiteInvalid) -> CliError:
    """Return the error that lists what is wrong with a suite."""
    # Names of files and texts in them are chosen by whoever wrote the suite.
    lines = [f"  {line}" for line in clean(str(error)).split("\n")]
    text = "\n".join(["nothing was run, because the suite is not valid:", *lines])
    return CliError(text, code=ExitCode.INVALID)


def _request(args: Args) -> SuiteRequest:
    return SuiteRequest(
        test_dirs=tuple(args.arguments),
        select=_pattern(args.test),
        namespace_of=CaseNamespaces(),
        namespace=args.namespace,
        variables=_variables(args.template_var),
        environment=dict(os.environ),
        labels=_labels(args.test_run_labels),
    )


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        problem = f'invalid argument "{text}" for "--test" flag: {error}'
        raise UsageError(problem) from None


def _variables(given: list[str]) -> dict[str, object]:
    variables: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not _VARIABLE.fullmatch(name):
            raise UsageError(f'--template-var "{text}" is not of the form name=value')
        try:
            variables[name] = goyaml.load(value)
        except goyaml.YamlError as error:
            raise UsageError(f"--template-var {name}: not valid YAML: {error}") from None
    return variables


def _labels(given: list[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for text in words(given):
        name, equals, value = text.partition("=")
        if not equals or not _LABEL.fullmatch(name):
            raise UsageError(f'--test-run-labels "{text}" is not of the form name=value')
        labels[name] = value
    return labels


def with_archives(suite: Suite, request: SuiteRequest) -> Suite:
    """Return the suite with the cases of its archives.

    Raises:
        SuiteInvalid: an archive cannot be read, or something is wrong with its cases.
    """
    if not suite.downloads:
        return suite
    unpacked = _unpacked(suite.downloads)
    dirs = tuple(str(archive.folder) for archive in unpacked)
    loaded = load_suite(replace(request, test_dirs=dirs))
    # Reports and logs name the URL; the folder is gone after the run.
    names = {str(archive.folder): archive.url.value for archive in unpacked}
    folders = tuple(
        replace(folder, path=names.get(folder.path, folder.path)) for folder in loaded.test_dirs
    )
    return replace(
        suite,
        test_dirs=suite.test_dirs + folders,
        downloads=(),
        warnings=suite.warnings + loaded.warnings,
    )


def _unpacked(urls: tuple[Text, ...]) -> list[UnpackedCases]:
    key = tuple(url.value for url in urls)
    if key not in _UNPACKED:
        folder = Path(tempfile.mkdtemp(prefix="kudo-test-cases-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _UNPACKED[key] = asyncio.run(fetch_cases(urls, folder, HOST.download))
    return _UNPACKED[key]


def _random() -> str:
    return "".join(secrets.choice(_CHARACTERS) for _ in range(_RANDOM))


@dataclass(slots=True)
class CaseNamespaces:
    """Names the namespaces of a run, each of them once.

    Attributes:
        random: Returns the last characters of a name.
    """

    random: Callable[[], str] = _random
    _chosen: set[str] = field(default_factory=set)

    def __call__(self, case: str) -> str:
        """Return a valid name for the namespace of a case."""
        part = re.sub("[^a-z0-9]+", "-", case.lower()).strip("-")[:_MOST].rstrip("-")
        while True:
            name = "-".join(filter(None, (PREFIX, part, self.random())))
            # Cases of two folders may have the same name.
            if name not in self._chosen:
                self._chosen.add(name)
                return name


NAMES: Final = ("kudo-test.yaml", "kuttl-test.yaml")
"""Names of suite files, the first one that exists counts."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A suite that can run.

    Attributes:
        suite: The suite, with the flags in place of what its file says.
        file: The suite file; None if there is none.
        plan: What is done for its lines that ask for a cluster.
        unused: Suite files in folders that are given, which are not read.
    """

    suite: Suite
    file: Path | None
    plan: Plan
    unused: tuple[Path, ...]


def prepare(args: Args) -> Prepared:
    """Read and plan a run.

    Raises:
        UsageError: a flag has a value that it cannot have, or nothing names a case.
        CliError: something is wrong with the suite; the text lists all of it.
    """
    file = find_suite_file(args.config, args.arguments)
    suite = read_suite(args, file.path)
    report_path(suite.options)
    plan = _planned(suite, plan_options(args))
    return Prepared(suite, file.path, plan, file.unused)


def _planned(suite: Suite, options: PlanOptions) -> Plan:
    """Plan the run and compile the expressions of its asserts.

    Raises:
        CliError: either cannot be done; the text lists all of it.
    """
    findings = Findings()
    check_expressions(suite, findings)
    try:
        plan = plan_run(suite, options, kudo_verdict)
        findings.check()
    except SuiteInvalid as error:
        findings_of_both = {*findings.kept, *error.findings}
        every = sorted(findings_of_both, key=lambda finding: finding.place)
        raise suite_invalid(SuiteInvalid(every, findings.dropped + error.dropped)) from None
    return replace(plan, warnings=(*plan.warnings, *findings.sorted()))


def tell(prepared: Prepared, *, again: bool = False) -> None:
    """Print what runs, and what is done otherwise than the suite says.

    Args:
        prepared: The suite.
        again: Whether the cluster is there already, so that nothing is said about it.
    """
    for finding in (*prepared.suite.warnings, *prepared.plan.warnings):
        warn(clean(str(finding)))
    for path in prepared.unused:
        warn(f"{path} is not used; name it with --config to use it")
    say(clean(_headline(prepared.suite, prepared.file)))
    for line in () if again else prepared.plan.substitutions:
        say(clean(str(line)))


def _headline(suite: Suite, file: Path | None) -> str:
    count = len(list(suite.cases))
    where = ", ".join(folder.path for folder in suite.test_dirs)
    more = f", and those of {len(suite.downloads)} archives" if suite.downloads else ""
    by = f", suite file {file}" if file else ""
    return f"Running {count} {'case' if count == 1 else 'cases'} of {where}{more}{by}"


@dataclass(frozen=True, slots=True)
class SuiteFile:
    """The suite file of a run.

    Attributes:
        path: Where it is; None if there is none.
        unused: Suite files in folders that are given, which are not read.
    """

    path: Path | None
    unused: tuple[Path, ...] = ()


def find_suite_file(config: str, folders: Sequence[str]) -> SuiteFile:
    """Return the suite file of a run.

    Args:
        config: `--config`; empty if it is not given.
        folders: The folders of cases that the command line names.

    Raises:
        CliError: the file of `--config` does not exist.
        UsageError: neither a file nor folders are given.
    """
    if config:
        path = Path(config).expanduser()
        if not path.is_file():
            raise CliError(f"cannot read the suite file {config}: no such file")
        return SuiteFile(path)
    inside = [file for folder in folders if (file := _in(Path(folder))) is not None]
    here = _in(Path())
    if here is not None:
        return SuiteFile(here, tuple(other for other in inside if not other.samefile(here)))
    if not folders:
        raise UsageError(
            f"{NAMES[0]} not found, provide either --config or arguments indicating the tests to "
            "load"
        )
    if len(folders) == 1:
        return SuiteFile(inside[0] if inside else None)
    return SuiteFile(None, tuple(inside))


def _in(folder: Path) -> Path | None:
    return next((path for name in NAMES if (path := folder / name).is_file()), None)


def check_expressions(suite: Suite, findings: Findings) -> None:
    """Note each CEL expression of a suite that cannot be compiled, with file and line."""
    for case in suite.cases:
        for step in case.steps:
            if step.assert_options is not None:
                Expressions.compile(step.assert_options, findings)
