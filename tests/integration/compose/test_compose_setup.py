"""What docker-compose.yml does to a cluster, done to a real API server without containers.

The cluster is one of its own: the webhook configurations name a host that only Docker resolves.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
import yaml

from kudo_cluster import Cluster
from tests.support.loops.lacking import in_vain

_ROOT = Path(__file__).resolve().parents[3]
_SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((_ROOT / "docker-compose.yml").read_text())[
    "services"
]
_SECONDS = 30
T = TypeVar("T")
_CONFIGURATIONS = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"


@pytest.fixture(scope="module")
def compose_cluster() -> Iterator[Cluster]:
    with Cluster.start(name="compose") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def kubeconfigs(compose_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of kubeconfigs after two runs of the set-up."""
    place = tmp_path_factory.mktemp("compose")
    files = place / "setup"
    files.mkdir()
    for volume in _SERVICES["setup"]["volumes"][:-1]:
        source, target, _ = volume.split(":")
        source = _ROOT / source
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, files / Path(target).name)
    written = place / "kubeconfigs"
    written.mkdir()
    # As k3s writes it: its address is of no use to other containers.
    given = yaml.safe_load(compose_cluster.kubeconfig("admin").read_text())
    given["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (written / "k3s.yaml").write_text(yaml.safe_dump(given))
    environ = {
        "PATH": f"{compose_cluster.binary('kubectl').parent}:/usr/bin:/bin",
        "HOME": str(place),
        "KUBECONFIGS": str(written),
        "SERVER": compose_cluster.server,
    }
    for _ in range(2):
        subprocess.run(["sh", files / "setup.sh"], env=environ, check=True)
    return written


def kubectl(cluster: Cluster, kubeconfig: Path, *arguments: str) -> str:
    command = [str(cluster.binary("kubectl")), f"--kubeconfig={kubeconfig}", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_only_the_reconciler_may_write_inventories(
    compose_cluster: Cluster, kubeconfigs: Path
) -> None:
    shown = ("--output=jsonpath={.spec.matchConditions[*].expression}",)
    policy = ("get", "validatingadmissionpolicy", "kudo-inventories", *shown)
    path = kubeconfigs / "admin.yaml"
    user = "system:serviceaccount:kudo-system:kudo-reconciler"
    expected = f"request.userInfo.username != '{user}'"
    assert kubectl(compose_cluster, path, *policy) == expected


def test_the_reconciler_has_a_key_for_digests(kubeconfigs: Path) -> None:
    key = kubeconfigs / "kudo-reconciler" / "digest-key"
    assert len(key.read_bytes()) == 32


@pytest.mark.parametrize("name", ["webhook", "reconciler"])
def test_a_service_acts_as_its_own_user_with_its_own_rights(
    compose_cluster: Cluster, kubeconfigs: Path, name: str
) -> None:
    path = kubeconfigs / f"kudo-{name}" / "kubeconfig.yaml"
    answer = kubectl(compose_cluster, path, "auth", "whoami", "--output=json")
    user = orjson.loads(answer)["status"]["userInfo"]
    assert user["username"] == f"system:serviceaccount:kudo-system:kudo-{name}"
    assert "system:masters" not in user["groups"]


@pytest.mark.parametrize("name", ["webhook", "reconciler"])
def test_a_service_has_no_credentials_but_its_own(kubeconfigs: Path, name: str) -> None:
    [volume] = _SERVICES[name]["volumes"]
    folder, target, mode = volume.split(":")
    assert (folder, target, mode) == (f"./.kudo/compose/kudo-{name}", "/credentials", "ro")
    given = {path.name: path for path in (kubeconfigs / f"kudo-{name}").iterdir()}
    kubeconfig = given.pop("kubeconfig.yaml")
    # The key for digests opens nothing.
    assert set(given) == ({"digest-key"} if name == "reconciler" else set())
    [found] = yaml.safe_load(kubeconfig.read_text())["users"]
    assert set(found["user"]) == {"token"}


def test_the_kubeconfig_for_people_is_that_of_a_user_of_the_cli(kubeconfigs: Path) -> None:
    document = yaml.safe_load((kubeconfigs / "user.yaml").read_text())
    assert document["users"][0]["user"]["as"] == "kudo-user"
    assert document["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:6443"


def test_the_services_take_up_their_work_with_the_options_of_the_file(
    compose_cluster: Cluster, kubeconfigs: Path, tmp_path: Path
) -> None:
    admin = compose_cluster.kubeconfig("admin")
    started = [start(name, kubeconfigs, tmp_path) for name in ("webhook", "reconciler")]
    try:
        for kind in _CONFIGURATIONS:
            found = eventually(partial(bundle, compose_cluster, admin, kind))
            assert found["url"].startswith("https://kudo-webhook.kudo-system.svc:9443/")
        lease = ["get", "lease", "kudo-reconciler", "--namespace=kudo-system"]
        eventually(
            lambda: kubectl(compose_cluster, admin, *lease, "--output=name", "--ignore-not-found")
        )
    finally:
        for process in started:
            process.terminate()
    assert [process.wait(_SECONDS) for process in started] == [0, 0]


def start(name: str, kubeconfigs: Path, logs: Path) -> subprocess.Popen[bytes]:
    options = [
        option.replace("/credentials/", f"{kubeconfigs}/kudo-{name}/")
        for option in _SERVICES[name]["command"]
    ]
    options += ["--probe-port=0", *(["--port=0"] if name == "webhook" else [])]
    with (logs / name).open("wb") as log:
        command = [sys.executable, "-m", f"kudo_{name}", *options]
        return subprocess.Popen(command, stdout=log, stderr=log)


def bundle(cluster: Cluster, admin: Path, kind: str) -> dict[str, str] | None:
    """Return how the webhook is called, once its authority is written there."""
    found = kubectl(cluster, admin, "get", kind, "kudo-instance-admission", "--output=json")
    (webhook,) = orjson.loads(found)["webhooks"]
    return webhook["clientConfig"] if webhook["clientConfig"].get("caBundle") else None


def eventually(ask: Callable[[], T | None]) -> T:
    deadline = time.monotonic() + _SECONDS
    while not (answer := ask()):
        assert time.monotonic() < deadline, in_vain(_SECONDS, ask)
        time.sleep(0.1)
    return answer
