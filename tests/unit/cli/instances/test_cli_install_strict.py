"""`install` where tenancy is strict: the rights of the account are checked before all else."""

from pathlib import Path

import pytest

from kubectl_kudo.__main__ import main
from tests.support.build import Json
from tests.support.terminals.stream import TerminalStream
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


def test_who_may_ask_for_no_review_is_told_so(kudo: Cli, strict: FakeApi, package: Path) -> None:
    strict.denied = {"configmaps"}
    reviews = ("subjectaccessreviews", "localsubjectaccessreviews")
    strict.refusals |= {("POST", review): (403, "no") for review in reviews}
    ran = kudo(*argv(package))
    assert ran.code == 0
    assert ran.err.startswith("Warning: tenancy is strict, and you may not ask")
    assert ran.err.count("\n") == 1


def test_who_may_list_no_deployments_is_told_on_a_terminal_alone(
    kudo: Cli, strict: FakeApi, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict.denied = {"configmaps"}
    strict.refusals["GET", "deployments"] = (403, "no")
    ran = kudo(*argv(package))
    assert (ran.code, ran.err) == (0, "")
    strict.remove("instances", "tea")
    screen = TerminalStream()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", screen)
        assert main(argv(package)) == 0
    assert "you may not list Deployments" in screen.getvalue()


def test_an_operator_of_the_namespace_is_checked_as_well(
    kudo: Cli, strict: FakeApi, package: Path
) -> None:
    assert kudo(*argv(package, "--skip-instance")).code == 0
    strict.denied = {"configmaps"}
    ran = kudo("install", "teapot", "-p", "TEA=mint", "--instance", "tea", "--in-cluster")
    assert ran.code == 4
    assert "install teapot --instance tea -n kitchen --in-cluster --create-service-acc" in ran.err
    assert strict.names("instances") == []
