"""What a real node needs: whatever is missing is said at once, with the command that helps."""

from pathlib import Path

import pytest

from kudo_cluster.errors import ClusterError
from kudo_cluster.node import real


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    for name in real.CNI_PLUGINS:
        (tmp_path / name).touch()
    return tmp_path


def test_without_root_the_message_says_what_to_do() -> None:
    with pytest.raises(ClusterError, match=r"needs root.* or use the profile control-plane"):
        real.check(user=1000)


def test_everything_missing_is_named_once(tmp_path: Path) -> None:
    assert real.missing_packages(lambda _: None, [tmp_path]) == [
        "busybox-static",
        "conntrack",
        "containerd",
        "containernetworking-plugins",
        "iproute2",
        "iptables",
        "runc",
        "util-linux",
    ]


def test_only_what_is_missing_is_named(plugins: Path) -> None:
    def find(name: str) -> Path | None:
        return None if name in {"ctr", "runc"} else Path("/usr/bin") / name

    assert real.missing_packages(find, [plugins]) == ["containerd", "runc"]


def test_a_complete_machine_lacks_nothing(plugins: Path) -> None:
    assert real.missing_packages(lambda name: Path("/usr/bin") / name, [plugins]) == []


def test_a_directory_that_lacks_a_plugin_does_not_count(plugins: Path, tmp_path: Path) -> None:
    (plugins / "portmap").unlink()
    assert real.cni_directory([tmp_path / "nowhere", plugins]) is None
    (plugins / "portmap").touch()
    assert real.cni_directory([tmp_path / "nowhere", plugins]) == plugins


def test_missing_packages_are_an_error_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "missing_packages", lambda _: ["conntrack", "runc"])
    with pytest.raises(ClusterError, match=r"apt-get install .* conntrack runc$"):
        real.check(user=0)
