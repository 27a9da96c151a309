"""Checks which rights the accounts of Instances lack: what would fail once KUDO is strict."""

import json
from collections.abc import Iterable, Iterator, Sequence

from pydantic import ValidationError

from kubectl_kudo.accounts.actors import reconciler_of
from kubectl_kudo.accounts.checker import Checker, Finding
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.blocks import Column, Table
from kubectl_kudo.session.cells import NONE, cell, printable
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, check_format, show, talk
from kubectl_kudo.session.session import Session, in_session
from kudo.api import Instance
from kudo.packages.readable_yaml import dump

_COLUMNS = ("NAMESPACE", Column("INSTANCE", kept=True), "ACCOUNT", Column("LACKS", kept=True))
_PROGRESS = 25
"""Instances after which a line about the progress is printed."""


def check(args: Args) -> None:
    """Print what the accounts lack.

    Raises:
        CliError: with exit code 1, if they lack anything.
    """
    check_format(args.output)
    in_session(args, lambda session: _check(session, args))


async def _check(session: Session, args: Args) -> None:
    found = await _instances(session, args)
    own = await reconciler_of(session.client, args.kudo_namespace)
    checker = Checker.of(session, own, args.service_account)
    findings: list[Finding] = []
    for number, wire in enumerate(found, 1):
        findings.append(await _finding(checker, wire))
        if number % _PROGRESS == 0 and number < len(found):
            talk(f"{number} of {len(found)} instances are checked")
    if args.output:
        print(data_of(findings, args.output), end="")
    else:
        show(table_of(findings))
    _show_notes(findings)
    wanting = sum(1 for one in findings if one.lacks)
    if wanting:
        text = f"{wanting} of {len(findings)} instances lack something"
        raise CliError(
            f"{text}; print the rights of one with: kubectl kudo rbac --instance NAME",
            code=ExitCode.TEST_FAILED,
        )


async def _finding(checker: Checker, wire: JsonObject) -> Finding:
    try:
        instance = Instance.from_wire(wire)
    except ValidationError:
        finding = Finding(wire["metadata"]["namespace"], wire["metadata"]["name"], "")
        finding.lack("a form that KUDO can read")
        return finding
    return await checker.check(instance)


async def _instances(session: Session, args: Args) -> list[JsonObject]:
    if args.instance:
        return [await session.existing_instance(args.instance)]
    namespace = None if args.all_namespaces else session.namespace
    return (await session.client.list(INSTANCES, namespace=namespace)).items


def _show_notes(findings: Iterable[Finding]) -> None:
    for finding in findings:
        for note in finding.notes:
            talk(f"Note on instance {finding.namespace}/{finding.instance}: {printable(note, 500)}")


def table_of(findings: Iterable[Finding]) -> Table:
    """Return a table with a row for each thing that is lacking."""
    return Table(_COLUMNS, [*_rows(findings)])


def _rows(findings: Iterable[Finding]) -> Iterator[Sequence[str]]:
    for one in findings:
        for lack in one.lacks or (NONE,):
            yield cell(one.namespace), cell(one.instance), cell(one.account), lack


def data_of(findings: Iterable[Finding], output: str) -> str:
    """Return a list of the findings in JSON or YAML."""
    data = [one.to_data() for one in findings]
    return f"{json.dumps(data, indent=2, ensure_ascii=False)}\n" if output == "json" else dump(data)
