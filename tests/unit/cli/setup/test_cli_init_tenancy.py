"""`kubectl kudo init`: the mode of tenancy that it installs, keeps and tells."""

import json
from typing import Any

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.setup.installations import BUILT_IN

JsonObject = dict[str, Any]


_CLUSTER_ROLES = ("clusterroles", "clusterrolebindings")


def _arguments(server: FakeApi, name: str) -> list[str]:
    deployment = server.objects[("deployments", name)]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    found: list[str] = container["args"]
    return found


def _impersonator(server: FakeApi) -> list[JsonObject]:
    rules: list[JsonObject] = server.objects[("clusterroles", "kudo-impersonator")]["rules"]
    return rules


def test_strict_takes_the_rights_of_plans_away_and_stays_until_the_flag_says_otherwise(
    init: Cli, installed: FakeApi
) -> None:
    services = ("kudo-webhook", "kudo-reconciler")
    workloads = {(plural, "kudo-reconciler-workloads") for plural in _CLUSTER_ROLES}
    assert workloads <= set(installed.objects)
    assert all("--tenancy=compat" in _arguments(installed, name) for name in services)

    ran = init(BUILT_IN, "--tenancy=strict")
    assert workloads.isdisjoint(installed.objects)
    assert all("--tenancy=strict" in _arguments(installed, name) for name in services)
    assert "kubectl kudo rbac --namespace NAMESPACE" in ran.err

    # BTO-38: the second time was an error.
    again = init(BUILT_IN)
    assert (again.code, "tenancy is strict" in again.err) == (0, True)
    assert "--tenancy=strict" in _arguments(installed, "kudo-reconciler")

    init(BUILT_IN, "--tenancy=compat")
    assert "--tenancy=compat" in _arguments(installed, "kudo-reconciler")


@pytest.mark.parametrize(("version", "constrained"), [("v1.36.3", True), ("v1.35.9", False)])
def test_impersonation_is_constrained_where_the_server_can(
    init: Cli, server: FakeApi, version: str, constrained: bool
) -> None:
    server.set_version(version)
    init(BUILT_IN, "--tenancy=strict")

    verbs = {verb for rule in _impersonator(server) for verb in rule["verbs"]}
    assert ("impersonate" in verbs) is not constrained
    assert ("impersonate:serviceaccount" in verbs) is constrained
    cluster = ("clusterroles", "kudo-impersonator-cluster") in server.objects
    assert cluster is constrained


def test_the_manifests_without_a_cluster_are_those_of_the_flag(init: Cli) -> None:
    shown = init(BUILT_IN, "--dry-run", "-o=json", "--tenancy=strict").out

    names = {(obj["kind"], obj["metadata"]["name"]) for obj in json.loads(shown)}
    assert ("ClusterRole", "kudo-impersonator") in names
    assert ("ClusterRole", "kudo-reconciler-workloads") not in names


def test_crds_alone_have_no_mode(init: Cli) -> None:
    ran = init("--tenancy=strict", "--crd-only")

    assert ran.code != 0
    assert "'--tenancy' is only useful when services are" in ran.err
