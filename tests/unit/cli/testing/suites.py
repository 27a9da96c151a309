"""Suites, and clients of the API server in memory, for tests of `kubectl kudo test`."""

from collections.abc import Mapping
from pathlib import Path

from kubectl_kudo.commands.test.invocation import check_expressions
from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kudo_harness.checks.kinds import Kinds, check_kinds, known_kinds
from kudo_harness.findings import Findings
from tests.unit.cli.fake_api import FakeApi
from tests.unit.harness.suite.writing import load


def client_of(api: FakeApi) -> Client:
    return Client(ClusterConfig(server=api.url))


async def kinds_of(api: FakeApi) -> Kinds:
    async with client_of(api) as client:
        return await known_kinds(client)


def findings_in(
    root: Path, kinds: Kinds, files: Mapping[str, str], *, kudo_installed: bool = False
) -> list[str]:
    """Return what is wrong with a suite on a cluster, paths from the root of the suite."""
    findings = Findings()
    suite = load(root, files)
    check_expressions(suite, findings)
    check_kinds(suite, kinds, findings, kudo_installed=kudo_installed)
    return [f"{one.severity} {one}".replace(f"{root}/", "") for one in findings.sorted()]
