"""Reads and plans a run; everything that is wrong with its files is told before it starts."""

from dataclasses import dataclass, replace
from pathlib import Path

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.output import say, warn
from kubectl_kudo.core.terminal import clean
from kubectl_kudo.testing.checks.check_expressions import check_expressions
from kubectl_kudo.testing.invocation.cluster_flags import plan_options
from kubectl_kudo.testing.invocation.request import read_suite, suite_invalid
from kubectl_kudo.testing.invocation.suite_file import find_suite_file
from kubectl_kudo.testing.local.plan import plan_lines, plan_run
from kubectl_kudo.testing.local.planned import Plan, PlanOptions
from kubectl_kudo.testing.reporting.reports import report_path
from kudo_harness.findings import Findings, SuiteInvalid
from kudo_harness.suite import Suite


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
