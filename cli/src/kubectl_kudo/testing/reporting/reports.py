"""Writes the report of a run."""

from pathlib import Path

from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.files import write_file
from kudo_harness.report import SuiteResult, junit_xml, report_json
from kudo_harness.suite import ReportFormat, SuiteOptions


def report_path(options: SuiteOptions) -> Path | None:
    """Return where the report is written; None if none is asked for.

    Raises:
        CliError: the report cannot have such a name.
    """
    if options.report_format is None:
        return None
    name = options.report_name
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise CliError(f'the report cannot have the name "{name}"; it must be that of a file')
    return Path(options.artifacts_dir, f"{name}.{options.report_format}")


def write_report(result: SuiteResult, options: SuiteOptions) -> Path | None:
    """Write the report, if one is asked for, and return where it is.

    Raises:
        CliError: it cannot be written.
    """
    path = report_path(options)
    if path is None:
        return None
    granularity = options.report_granularity
    if options.report_format is ReportFormat.XML:
        content = junit_xml(result, granularity)
    else:
        content = report_json(result, granularity).encode()
    write_artifact(path, content)
    return path


def write_artifact(path: Path, content: bytes) -> None:
    """Write a file into the folder of artifacts, which is created if it is missing.

    Raises:
        CliError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)
    except OSError as error:
        raise CliError(f"cannot write {path}: {error.strerror or error}") from error
