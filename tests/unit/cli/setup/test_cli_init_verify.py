"""`kubectl kudo init --verify` and `--uninstall` against an API server."""

from io import StringIO

import pytest

from kubectl_kudo import __version__
from kubectl_kudo.setup.verify import differences
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.setup.installations import BUILT_IN, add, of_helm, old_manager

_DEPLOYMENT = ("deployments", "kudo-webhook")
_BUDGET = ("poddisruptionbudgets", "kudo-reconciler")


class Terminal(StringIO):
    """Somebody who can be asked."""

    def isatty(self) -> bool:
        return True


# --verify


def test_what_is_as_it_should_be_is_said_to_be(init: Cli, installed: FakeApi) -> None:
    # BTO-42: nothing was printed.
    ran = init(BUILT_IN, "--verify")

    assert (ran.code, ran.err, installed.changes) == (0, "", [])
    assert ran.out == "✅ KUDO is installed in namespace kudo-system as it should be, and works\n"


def test_what_differs_is_named_with_its_place(init: Cli, installed: FakeApi) -> None:
    # BTO-42: another image was a warning, and ended the waiting as success.
    installed.objects[_DEPLOYMENT]["spec"]["template"]["spec"]["containers"][0]["image"] = "other:1"
    installed.objects[_BUDGET]["spec"]["maxUnavailable"] = 2

    assert init(BUILT_IN, "--verify").err == (
        "Error: KUDO installation is not valid:\n"
        "  deployment.apps/kudo-webhook differs: spec.template.spec.containers[0].image is "
        f"other:1, not kudo-webhook:{__version__}\n"
        "  poddisruptionbudget.policy/kudo-reconciler differs: spec.maxUnavailable is 2, not 1\n"
    )


def test_a_webhook_that_is_not_asked_is_no_valid_installation(
    init: Cli, installed: FakeApi
) -> None:
    installed.judgement = (500, "InternalError", "failed calling webhook")
    ran = init(BUILT_IN, "--verify")
    assert ran.err == "Error: KUDO installation is not valid:\n  failed calling webhook\n"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"observedGeneration": 0}, "deployment.apps/kudo-webhook is being updated"),
        (
            {"replicas": 3},
            "deployment.apps/kudo-webhook: pods of the previous version still exist",
        ),
        ({"updatedReplicas": 1}, "deployment.apps/kudo-webhook: 1 of 2 replicas are available"),
        (
            {
                "availableReplicas": 0,
                "conditions": [{"type": "ReplicaFailure", "status": "True", "message": "quota"}],
            },
            "deployment.apps/kudo-webhook: 0 of 2 replicas are available; quota",
        ),
    ],
)
def test_a_deployment_that_is_not_rolled_out_is_no_valid_installation(
    init: Cli, installed: FakeApi, status: dict[str, object], text: str
) -> None:
    installed.objects[_DEPLOYMENT]["status"].update(status)
    ran = init(BUILT_IN, "--verify")
    assert ran.err == f"Error: KUDO installation is not valid:\n  {text}\n"


def test_an_old_manager_beside_is_no_valid_installation(init: Cli, installed: FakeApi) -> None:
    old_manager(installed)
    assert "KUDO 0.19 is installed, too: StatefulSet" in init(BUILT_IN, "--verify").err


def test_the_flag_for_the_certificate_is_missed_in_one_sentence(
    init: Cli, installed: FakeApi
) -> None:
    assert init("--verify").err == (
        "Error: KUDO installation is not valid:\n"
        f"  the installed webhook issues its certificate itself: add {BUILT_IN}\n"
    )


@pytest.mark.parametrize("flags", [(BUILT_IN,), (), ("--wait",)])
def test_a_release_of_helm_is_named_in_one_line(
    init: Cli, server: FakeApi, flags: tuple[str, ...]
) -> None:
    of_helm(server)
    assert init("--verify", *flags).err == (
        "Error: KUDO was installed by Helm, as release mine: `helm test mine "
        "--namespace=kudo-system` checks it\n"
    )


def test_an_installation_in_another_namespace_is_named_in_one_line(
    init: Cli, server: FakeApi
) -> None:
    subjects = [{"name": "kudo-webhook", "namespace": "kitchen"}]
    add(server, "clusterrolebindings", "kudo-webhook", subjects=subjects)
    [line] = init(BUILT_IN, "--verify").err.splitlines()
    assert line.endswith("use --namespace=kitchen")


@pytest.mark.parametrize(
    ("desired", "live", "found"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, ["a.b[1] is 3, not 2"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a is [1, 2], not [1]"]),
        ({"a": []}, {"a": [1]}, []),
        ({"a": [], "b": {}}, {}, []),
        ({"a": "x"}, {}, ["a is missing, not x"]),
        ({"a": "x" * 90}, {"a": 1}, [f"a is 1, not {'x' * 79}…"]),
    ],
)
def test_what_a_manifest_does_not_name_is_left_to_others(
    desired: dict[str, object], live: dict[str, object], found: list[str]
) -> None:
    assert list(differences(desired, live)) == found


# --uninstall


def test_what_was_installed_is_removed_and_the_crds_stay(init: Cli, installed: FakeApi) -> None:
    add(installed, "secrets", "kudo-webhook-certificate")
    installed.add("instances", {"metadata": {"name": "tea"}, "spec": {}})

    ran = init("--uninstall", "--yes")

    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("mutatingwebhookconfiguration.")
    assert lines[1].startswith("validatingwebhookconfiguration.")
    assert {*lines[2:4]} == {
        "deployment.apps/kudo-webhook deleted",
        "deployment.apps/kudo-reconciler deleted",
    }
    assert lines[-2:] == [
        "secret/kudo-digest-key deleted",
        "secret/kudo-webhook-certificate deleted",
    ]
    assert installed.plurals() == {"customresourcedefinitions", "instances", "namespaces"}
    assert ran.err.startswith("the CRDs stay, with 1 Instances and what they run")


def test_the_crds_go_first_where_that_is_asked_for(init: Cli, installed: FakeApi) -> None:
    installed.changes.clear()

    init("--uninstall", "--yes", "--delete-crds")

    assert installed.changes[:4] == [
        f"DELETE customresourcedefinitions/{plural}.kudo.dev"
        for plural in ("instances", "operatorversions", "operators", "inventories")
    ]
    assert installed.plurals() == {"namespaces"}


def test_crds_that_do_not_go_are_told_with_what_may_keep_them(
    init: Cli, installed: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubectl_kudo.setup.options.WAIT_SECONDS", 0.5)
    crd = installed.objects["customresourcedefinitions", "instances.kudo.dev"]
    crd["metadata"]["finalizers"] = ["example.com/held"]

    ran = init("--uninstall", "--yes", "--delete-crds")

    assert ran.code == 255
    assert "/instances.kudo.dev is still there after" in ran.err
    assert "an Instance with a cleanup plan is deleted after the reconciler has run it" in ran.err
    assert "kudo-reconciler" in installed.names("deployments")


def test_a_dry_run_of_the_removal_removes_nothing(init: Cli, installed: FakeApi) -> None:
    installed.changes.clear()
    ran = init("--uninstall", "--dry-run")
    assert "deployment.apps/kudo-webhook deleted (dry run)\n" in ran.out
    assert (ran.code, installed.changes) == (0, [])


def test_what_helm_or_others_installed_is_not_removed(init: Cli, installed: FakeApi) -> None:
    installed.objects["roles", "kudo-webhook"]["metadata"]["labels"].clear()
    init("--uninstall", "--yes")
    assert installed.names("roles") == ["kudo-webhook"]

    of_helm(installed)
    assert init("--uninstall", "--yes").err == (
        "Error: KUDO was installed by Helm, as release mine: use `helm upgrade` and "
        "`helm uninstall`\n"
    )


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("", 255)])
def test_somebody_is_asked_before_anything_is_removed(
    init: Cli, installed: FakeApi, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))

    ran = init("--uninstall")

    assert ran.code == code
    assert ran.err.startswith(
        "This removes KUDO from namespace kudo-system. There are 0 Instances. Continue? [y/N]\n"
    )
    assert ("kudo-webhook" in installed.names("deployments")) == bool(code)


def test_where_nobody_can_be_asked_the_flag_is_needed(
    init: Cli, installed: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    ran = init("--uninstall")
    assert ran.err == (
        "Error: '--uninstall' asks for confirmation, and stdin is not a terminal: give --yes\n"
    )
    assert "kudo-webhook" in installed.names("deployments")
