"""`make compose`: what it needs, what it replaces, and that it runs what the README shows."""

import re
from typing import Any

import pytest
import yaml

from kudo_cluster.errors import BuildError
from tools.compose import needs
from tools.compose.__main__ import SERVICES
from tools.compose.errors import ComposeError
from tools.compose.use import COMMANDS
from tools.compose.waiting import until
from tools.images.version import ROOT


def read(path: str) -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / path).read_text(encoding="utf-8")))


FILE, OVERRIDE, SECRETS = (
    read(path)
    for path in ("docker-compose.yml", "tools/compose/override.yml", "compose/build-secrets.yml")
)


def everywhere(name: str) -> str | None:
    return f"/usr/bin/{name}"


def no_go() -> None:
    raise BuildError("Go 1.26 or newer is needed")


def test_root_with_all_programs_may_run_it() -> None:
    needs.check("docker-compose", user=0, find=everywhere, check_go=no_go, built=lambda: True)


def test_everything_that_is_missing_is_named_at_once() -> None:
    missing = {"dockerd", "docker-compose", "promtool", "buildah"}
    with pytest.raises(ComposeError) as caught:
        needs.check(
            "docker-compose",
            user=1000,
            find=lambda name: None if name in missing else everywhere(name),
            check_go=no_go,
            built=lambda: False,
        )
    said = str(caught.value)
    assert "root" in said
    assert "apt-get install --yes --no-install-recommends" in said
    assert said.split("recommends ")[1].splitlines()[0].split() == [
        "buildah",
        "docker-compose",
        "docker.io",
        "prometheus",
    ]
    assert "Go 1.26 or newer is needed" in said


def test_another_program_than_docker_compose_is_looked_for_instead() -> None:
    def find(name: str) -> str | None:
        return None if name.endswith("compose") else everywhere(name)

    with pytest.raises(ComposeError, match="/opt/compose, which COMPOSE names") as caught:
        needs.check("/opt/compose", user=0, find=find, built=lambda: True)
    assert "apt-get" not in str(caught.value)


def test_ci_installs_what_is_needed() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    [installed] = re.findall(r"apt-get .* install .*\\\n((?:.*\\\n)*.*)\n", script)
    assert set(needs.PACKAGES.values()) <= set(installed.replace("\\", "").split())


def test_only_what_a_registry_has_is_replaced() -> None:
    replaced = OVERRIDE["services"]
    theirs = {name for name, service in FILE["services"].items() if "build" not in service}
    assert replaced.keys() == theirs
    assert {key for service in replaced.values() for key in service} == {"image", "privileged"}


def test_every_service_that_stays_is_restarted() -> None:
    assert set(SERVICES) == FILE["services"].keys() - {"setup"}


def test_the_commands_are_those_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in COMMANDS if line not in readme] == []


def test_the_build_secrets_are_those_of_the_dockerfile_and_optional() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    asked = set(re.findall(r"type=secret,id=([\w-]+)", dockerfile))
    built = {name for name, service in FILE["services"].items() if "build" in service}
    assert SECRETS["services"].keys() == built
    for service in SECRETS["services"].values():
        assert set(service["build"]["secrets"]) == asked
    assert SECRETS["secrets"].keys() == asked
    for secret in SECRETS["secrets"].values():
        assert secret["file"].endswith(":-/dev/null}")


def test_a_wait_that_is_over_says_what_was_lacking() -> None:
    states = iter(["k3s: starting", "k3s: unhealthy"])
    with pytest.raises(ComposeError, match=r"not within 0 s: k3s is healthy; .*: k3s: starting$"):
        until("k3s is healthy", lambda: next(states), 0)
