"""Reads and plans a run; everything that is wrong with its files is told before it starts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.output import say, warn
from kubectl_kudo.session.terminal import clean
from kubectl_kudo.testing.invocation.overrides import plan_options
from kubectl_kudo.testing.invocation.request import read_suite, suite_invalid
from kubectl_kudo.testing.local.plan import plan_lines, plan_run
from kubectl_kudo.testing.local.planned import Plan, PlanOptions
from kubectl_kudo.testing.reporting.reports import report_path
from kudo_harness.cel import Expressions
from kudo_harness.findings import Findings, SuiteInvalid
from kudo_harness.suite import Suite

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
        plan = plan_run(suite, options)
        findings.check()
    except SuiteInvalid as error:
        found = {*findings.kept, *error.findings}
        every = sorted(found, key=lambda finding: finding.place)
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
    for line in () if again else plan_lines(prepared.plan):
        say(clean(line))


def _headline(suite: Suite, file: Path | None) -> str:
    count = sum(len(folder.cases) for folder in suite.test_dirs)
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
    inside = [found for folder in folders if (found := _in(Path(folder))) is not None]
    here = _in(Path())
    if here is not None:
        return SuiteFile(here, tuple(one for one in inside if not one.samefile(here)))
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
    for folder in suite.test_dirs:
        for case in folder.cases:
            for step in case.steps:
                if step.assert_options is not None:
                    Expressions.compile(step.assert_options, findings)
