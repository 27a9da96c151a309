"""`kubectl kudo init`: the mode of tenancy that it installs, keeps and tells."""

import json
from typing import Any

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.init.installations import BUILT_IN

JsonObject = dict[str, Any]


def _arguments(server: FakeApi, name: str) -> list[str]:
    deployment = server.objects[("deployments", name)]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    found: list[str] = container["args"]
    return found


def _impersonator(server: FakeApi) -> list[JsonObject]:
    rules: list[JsonObject] = server.objects[("clusterroles", "kudo-impersonator")]["rules"]
    return rules


@pytest.mark.parametrize("service", ["kudo-webhook", "kudo-reconciler"])
@pytest.mark.parametrize(
    ("flags", "mode"), [((), "compat"), (("--tenancy=strict",), "strict")], ids=str
)
def test_both_services_get_the_mode(
    init: Cli, server: FakeApi, flags: tuple[str, ...], mode: str, service: str
) -> None:
    init(BUILT_IN, *flags)

    assert f"--tenancy={mode}" in _arguments(server, service)


def test_strict_takes_the_rights_of_plans_away_and_says_what_to_do_next(
    init: Cli, server: FakeApi
) -> None:
    init(BUILT_IN)
    assert ("clusterroles", "kudo-reconciler-workloads") in server.objects

    ran = init(BUILT_IN, "--tenancy=strict")

    assert ("clusterroles", "kudo-reconciler-workloads") not in server.objects
    assert ("clusterrolebindings", "kudo-reconciler-workloads") not in server.objects
    assert "tenancy is strict" in ran.err
    assert "kubectl kudo rbac --namespace NAMESPACE" in ran.err


def test_compat_is_told_with_the_way_out(init: Cli) -> None:
    ran = init(BUILT_IN)

    assert "tenancy is compat" in ran.err
    assert "--tenancy=strict" in ran.err


def test_what_is_strict_stays_strict_until_the_flag_says_otherwise(
    init: Cli, server: FakeApi
) -> None:
    init(BUILT_IN, "--tenancy=strict")

    again = init(BUILT_IN)
    assert "tenancy is strict" in again.err
    assert "--tenancy=strict" in _arguments(server, "kudo-reconciler")

    init(BUILT_IN, "--tenancy=compat")
    assert "--tenancy=compat" in _arguments(server, "kudo-reconciler")


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


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--tenancy=loose",), "unknown tenancy loose, must be one of 'strict' or 'compat'"),
        (("--tenancy=strict", "--crd-only"), "'--tenancy' is only useful when services are"),
    ],
    ids=str,
)
def test_a_wrong_mode_is_refused(init: Cli, flags: tuple[str, ...], says: str) -> None:
    ran = init(BUILT_IN, *flags)

    assert ran.code != 0
    assert says in ran.err
