"""`install` where tenancy is strict: the rights of the account are checked before all else."""

from pathlib import Path

import pytest

from tests.support.build import Json
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi

LACKING = """\
Error: tenancy is strict, and account kitchen/default lacks what the plans of instance tea need:
  create,get,patch configmaps
  Nothing was created.
  Give it an account with these rights, if you have them:
    kubectl kudo install {0} --instance tea -n kitchen --create-service-account
  or have somebody give them who may:
    kubectl kudo rbac {0} --instance-name tea --service-account default -n kitchen | \
kubectl apply -f -
  With --skip-rights-check it is installed, and steps wait for the rights.
"""


def deploy(api: FakeApi, mode: str) -> None:
    """Store the reconciler's Deployment, and the account `default` of the namespace."""
    pod: Json = {
        "serviceAccountName": "kudo-reconciler",
        "containers": [{"name": "reconciler", "args": [f"--tenancy={mode}"]}],
    }
    labels = {"app.kubernetes.io/part-of": "kudo"}
    metadata = {"name": "kudo-reconciler", "namespace": "kudo-system", "labels": labels}
    api.add("deployments", {"metadata": metadata, "spec": {"template": {"spec": pod}}})
    api.add("serviceaccounts", {"metadata": {"name": "default"}})


@pytest.fixture
def strict(api: FakeApi) -> FakeApi:
    deploy(api, "strict")
    return api


def argv(package: Path, *more: str) -> tuple[str, ...]:
    return "install", str(package), "-p", "TEA=mint", "--instance", "tea", *more


def test_missing_rights_are_told_before_anything_is_created(
    kudo: Cli, strict: FakeApi, package: Path
) -> None:
    strict.denied = {"configmaps"}
    ran = kudo(*argv(package))
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == LACKING.format(package)
    assert strict.changes == []


def test_it_goes_on_with_the_rights_or_with_the_flag(
    kudo: Cli, strict: FakeApi, package: Path
) -> None:
    ran = kudo(*argv(package))
    assert (ran.code, ran.err) == (0, "")
    strict.remove("instances", "tea")
    strict.denied = {"configmaps"}
    assert kudo(*argv(package, "--skip-rights-check")).code == 0
    assert strict.names("instances") == ["tea"]


def test_rights_are_only_needed_where_tenancy_is_strict(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    deploy(api, "compat")
    api.denied = {"configmaps"}
    ran = kudo(*argv(package))
    assert (ran.code, ran.err) == (0, "")


def test_the_right_to_own_objects_is_needed_by_a_plugin_alone(
    kudo: Cli, strict: FakeApi, package: Path
) -> None:
    strict.denied = {"update instances/finalizers", "instances/finalizers"}
    assert kudo(*argv(package)).code == 0


def test_an_account_that_is_given_its_rights_is_asked_for_impersonation_alone(
    kudo: Cli, strict: FakeApi, package: Path
) -> None:
    strict.denied = {"configmaps"}
    assert kudo(*argv(package, "--create-service-account")).code == 0
    strict.remove("instances", "tea")
    strict.changes.clear()
    strict.denied = {"serviceaccounts"}
    ran = kudo(*argv(package, "--create-service-account"))
    assert (ran.code, strict.changes) == (4, [])
    assert "kubectl kudo rbac --namespace kitchen | kubectl apply -f -" in ran.err
    assert "Give it an account" not in ran.err


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (("GET", "deployments"), "Warning: you may not list Deployments"),
        (("POST", "subjectaccessreviews"), "Warning: tenancy is strict, and you may not ask"),
    ],
)
def test_what_may_not_be_asked_is_told_and_not_checked(
    kudo: Cli, strict: FakeApi, package: Path, refused: tuple[str, str], told: str
) -> None:
    strict.denied = {"configmaps"}
    strict.refusals |= {refused: (403, "no"), ("POST", "localsubjectaccessreviews"): (403, "no")}
    ran = kudo(*argv(package))
    assert ran.code == 0
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_an_operator_of_the_namespace_is_checked_as_well(
    kudo: Cli, strict: FakeApi, package: Path
) -> None:
    assert kudo(*argv(package, "--skip-instance")).code == 0
    strict.denied = {"configmaps"}
    ran = kudo("install", "teapot", "-p", "TEA=mint", "--instance", "tea", "--in-cluster")
    assert ran.code == 4
    assert "install teapot --instance tea -n kitchen --in-cluster --create-service-acc" in ran.err
    assert strict.names("instances") == []
