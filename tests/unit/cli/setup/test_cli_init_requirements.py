"""What has to be so before `kubectl kudo init` changes anything, and how it is told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kubectl_kudo import __version__
from tests.unit.cli.conftest import KUBECONFIG, Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.setup.installations import BUILT_IN, add, cert_manager, of_helm, old_manager

Edit = Callable[[FakeApi], object]


def elsewhere(server: FakeApi) -> None:
    subjects = [{"name": "kudo-webhook", "namespace": "kitchen"}]
    add(server, "clusterrolebindings", "kudo-webhook", subjects=subjects)


def only_in_a_version_to_come(server: FakeApi) -> None:
    cert_manager(server, version="v2")


def going(server: FakeApi) -> None:
    metadata = {"deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["example.com/held"]}
    add(server, "namespaces", "kudo-system", metadata=metadata, spec={})


def has_other_image(server: FakeApi) -> None:
    container = {"image": "kudo-webhook:0.0.1", "args": ["--certificate-secret=x"]}
    template = {"spec": {"containers": [container]}}
    add(server, "deployments", "kudo-webhook", spec={"template": template})


def old_server(server: FakeApi) -> None:
    server.set_version("v1.29.9")


def no_right(server: FakeApi) -> None:
    server.denied = {"clusterroles", "services"}


def nothing(server: FakeApi) -> None:
    assert not server.objects


REQUIREMENTS = [
    (old_server, BUILT_IN, "Kubernetes 1.30 or newer is needed; the API server is v1.29.9"),
    (
        no_right,
        BUILT_IN,
        (
            "you lack permission to create clusterroles.rbac.authorization.k8s.io, to create "
            "services in namespace kudo-system, to patch clusterroles.rbac.authorization.k8s.io, "
            "to patch services in namespace kudo-system\n"
        ),
    ),
    (of_helm, BUILT_IN, "KUDO was installed by Helm, as release mine: use `helm upgrade` and "),
    # BTO-41: the binding kept naming the account in the other namespace.
    (elsewhere, BUILT_IN, "KUDO is installed in namespace kitchen, and a cluster can have only "),
    (going, BUILT_IN, "Namespace kudo-system is being deleted"),
    (nothing, f"{BUILT_IN} -n kitchen", "Namespace kitchen does not exist - KUDO expects that "),
    (nothing, f"{BUILT_IN} --service-account cook", "Service Account cook does not exists - KUDO "),
    # BTO-40: a version of cert-manager that is not known crashed.
    (only_in_a_version_to_come, "", "failed to detect any valid cert-manager CRDs. Make sure "),
    (nothing, "", "failed to detect any valid cert-manager CRDs. Make sure cert-manager is "),
    (
        has_other_image,
        BUILT_IN,
        (
            "KUDO manager kudo-system/kudo-webhook seems to be installed with the image "
            f"kudo-webhook:0.0.1, not kudo-webhook:{__version__}. Did you mean to use --upgrade\n"
        ),
    ),
    (nothing, f"{BUILT_IN} --upgrade", "KUDO is not installed in namespace kudo-system: leave "),
    (
        old_manager,
        BUILT_IN,
        (
            "KUDO 0.19 is installed in this cluster: StatefulSet "
            "kudo-system/kudo-controller-manager, MutatingWebhookConfiguration "
            "kudo-manager-instance-admission-webhook-config. To replace it, keeping all "
            "Operators, OperatorVersions and Instances, run the same command with --take-over: "
        ),
    ),
]


@pytest.mark.parametrize(
    ("change", "flags", "text"),
    REQUIREMENTS,
    ids=[f"{change.__name__}: {text[:30]}" for change, _, text in REQUIREMENTS],
)
def test_what_is_in_the_way_is_told_before_anything_is_written(
    init: Cli, server: FakeApi, change: Edit, flags: str, text: str
) -> None:
    change(server)
    ran = init(*flags.split())
    kind = "upgrade" if "--upgrade" in flags else "installation"
    assert ran.err.startswith(f"Error: failed to verify {kind} requirements: {text}")
    assert (ran.code, ran.out, server.changes) == (255, "", [])


def test_all_that_is_in_the_way_is_told_at_once(init: Cli, server: FakeApi) -> None:
    ran = init("--service-account=cook", "-n", "kitchen")
    headline, *problems = ran.err.splitlines()
    assert headline == "Error: failed to verify installation requirements:"
    assert [problem.split()[0] for problem in problems] == ["Namespace", "Service", "failed"]


def test_rights_may_be_limited_to_names(init: Cli, server: FakeApi) -> None:
    no_right(server)
    server.named_rights = True
    assert init(BUILT_IN).code == 0


def test_an_api_server_that_does_not_answer_is_told_in_one_line(
    init: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "nowhere"
    path.write_text(KUBECONFIG.format(url="http://127.0.0.1:1"))
    monkeypatch.setenv("KUBECONFIG", str(path))
    for flags in ((), ("--verify",), ("--uninstall", "--yes"), ("--crd-only",)):
        ran = init(BUILT_IN, *flags)
        [line] = ran.err.splitlines()
        assert (ran.code, ran.out) == (255, "")
        assert "no answer from the API server" in line


def test_users_of_a_local_cluster_are_no_installation_elsewhere(kudo: Cli, api: FakeApi) -> None:
    subjects = [{"kind": "User", "name": "kudo-webhook"}]
    add(api, "clusterrolebindings", "kudo-webhook", subjects=subjects)
    ran = kudo("init", *BUILT_IN.split())
    assert "KUDO is installed in namespace" not in ran.err
    assert ran.code == 0, ran.err
