"""The flags of a run: they replace options of the suite file, and say where the suite runs."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.testing.local.planned import PlanOptions
from kudo_harness.findings import Place
from kudo_harness.suite import Granularity, ListMatching, ReportFormat, SuiteOptions, Text

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
