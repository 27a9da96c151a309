"""What targets of the Makefile need is checked first, all at once."""

import re

import pytest

from kudo_cluster.errors import BuildError
from tools.images.version import ROOT
from tools.needs import PACKAGES, Missing, check


def everywhere(name: str) -> str | None:
    return f"/usr/bin/{name}"


def go() -> None:
    """Go is there."""


def no_go() -> None:
    raise BuildError("Go 1.26 or newer is needed")


@pytest.mark.parametrize("target", sorted(PACKAGES))
def test_root_with_all_programs_may_run_it(target: str) -> None:
    check(target, user=0, find=everywhere, plugins=lambda: 1, check_go=go, built=lambda: True)


@pytest.mark.parametrize("target", ["chart", "integration", "test", "unit"])
def test_tests_need_no_root(target: str) -> None:
    check(target, user=1000, find=everywhere, check_go=go, built=lambda: True)


@pytest.mark.parametrize("target", ["chart", "integration", "test"])
def test_tests_that_read_files_of_go_modules_need_go_beside_a_control_plane(target: str) -> None:
    with pytest.raises(Missing, match=r"files of Go modules: Go 1\.26"):
        check(target, user=1000, find=everywhere, check_go=no_go, built=lambda: True)


@pytest.mark.parametrize("target", ["compose", "e2e", "images", "unit"])
def test_what_is_built_needs_no_go(target: str) -> None:
    check(target, user=0, find=everywhere, plugins=lambda: 1, check_go=no_go, built=lambda: True)


def test_everything_that_is_missing_is_named_at_once() -> None:
    missing = {"dockerd", "docker-compose", "promtool", "buildah"}
    with pytest.raises(Missing) as caught:
        check(
            "compose",
            user=1000,
            find=lambda name: None if name in missing else everywhere(name),
            check_go=no_go,
            built=lambda: False,
        )
    said = str(caught.value)
    assert "run `sudo make compose`" in said
    assert said.split("apt-get install --yes --no-install-recommends ")[1].splitlines()[
        0
    ].split() == [
        "buildah",
        "docker-compose",
        "docker.io",
        "prometheus",
    ]
    assert "Go 1.26 or newer is needed" in said


def test_a_database_on_a_real_node_needs_what_both_of_its_steps_need() -> None:
    with pytest.raises(Missing) as caught:
        check("e2e-galera", user=0, find=lambda _: None, plugins=lambda: None, built=lambda: True)
    named = set(str(caught.value).split("recommends ")[1].split())
    assert {"buildah", "debootstrap", "containerd", "runc", "containernetworking-plugins"} <= named


def test_another_program_than_docker_compose_is_looked_for_instead() -> None:
    def find(name: str) -> str | None:
        return None if name.endswith("compose") else everywhere(name)

    with pytest.raises(Missing, match="/opt/compose, which COMPOSE names") as caught:
        check("compose", compose="/opt/compose", user=0, find=find, built=lambda: True)
    assert "apt-get" not in str(caught.value)


def test_every_target_checks_first() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in PACKAGES:
        [first] = re.findall(rf"^{target}: .*\n\t@(.*)$", makefile, re.MULTILINE)
        by_itself = target == "compose" and "tools.compose" in first
        assert by_itself or first == f"$(BIN)/python -m tools.needs {target}"


def test_ci_installs_what_is_needed() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    [installed] = re.findall(r"apt-get .* install .*\\\n((?:.*\\\n)*.*)\n", script)
    needed = {package for packages in PACKAGES.values() for package in packages.values()}
    # The script itself runs in bash.
    assert needed - {"bash"} <= set(installed.replace("\\", "").split())
