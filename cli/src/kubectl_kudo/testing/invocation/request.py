"""Reads the suite that a command line asks for."""

import os
import re
from dataclasses import replace
from pathlib import Path

import goyaml
from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import CliError, ExitCode, UsageError
from kubectl_kudo.core.session import check_names
from kubectl_kudo.core.terminal import clean
from kubectl_kudo.testing.invocation.archives import with_archives
from kubectl_kudo.testing.invocation.case_namespaces import CaseNamespaces
from kubectl_kudo.testing.invocation.overrides import overridden, words
from kudo_harness.findings import SuiteInvalid
from kudo_harness.suite import Suite, SuiteRequest, load_suite

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
    found: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not _VARIABLE.fullmatch(name):
            raise UsageError(f'--template-var "{text}" is not of the form name=value')
        try:
            found[name] = goyaml.load(value)
        except goyaml.YamlError as error:
            raise UsageError(f"--template-var {name}: not valid YAML: {error}") from None
    return found


def _labels(given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in words(given):
        name, equals, value = text.partition("=")
        if not equals or not _LABEL.fullmatch(name):
            raise UsageError(f'--test-run-labels "{text}" is not of the form name=value')
        found[name] = value
    return found
