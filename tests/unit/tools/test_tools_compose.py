"""`make compose`: what it needs, what it replaces, and that it runs what the README shows."""

import re
from typing import Any

import pytest
import yaml

from tools.compose.__main__ import SERVICES
from tools.compose.engine import ComposeError, until
from tools.compose.use import COMMANDS
from tools.images.version import ROOT


def read(path: str) -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / path).read_text(encoding="utf-8")))


FILE, OVERRIDE, SECRETS = (
    read(path)
    for path in ("docker-compose.yml", "tools/compose/override.yml", "compose/build-secrets.yml")
)


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
