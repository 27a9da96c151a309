"""What a start costs: help and version import nothing heavy, commands no more than they use."""

import importlib.metadata
import json
from pathlib import Path

import pytest

from kubectl_kudo import __version__
from tests.unit.cli.conftest import Cli
from tests.unit.cli.imports import imported

EXAMPLES = Path(__file__).parents[3] / "examples"
HEAVY = ("asyncio", "aiohttp", "pydantic", "yaml", "kubeio.client", "kudo.api", "logging", "typing")


@pytest.mark.parametrize(
    "argv",
    [
        *(["version"], ["--help"], ["install", "--help"], ["brew"]),
        *(["package", "list", "--help"], ["package", "add", "--help"], ["package", "--help"]),
    ],
)
def test_help_and_version_import_nothing_heavy(argv: list[str]) -> None:
    loaded = imported(f"from kubectl_kudo.__main__ import main; main({argv!r})")
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "module",
    [
        *("get.list_objects", "get.describe_instance", "instances.removing.delete_instance"),
        *("plans.trigger_plan", "plans.show_status", "plans.show_history"),
        *("plans.wait_for_plan", "plans.cancel_plan"),
    ],
)
def test_commands_that_read_and_patch_do_without_models(module: str) -> None:
    loaded = imported(f"import kubectl_kudo.{module}")
    assert "kubeio.client" in loaded
    assert loaded.isdisjoint({"pydantic", "kudo.api", "kubernetes_asyncio", "gotemplate", "goyaml"})


def test_verifying_a_package_needs_nothing_of_the_network() -> None:
    argv = ["package", "verify", str(EXAMPLES / "first-operator")]
    loaded = imported(f"from kubectl_kudo.__main__ import main; assert main({argv!r}) == 0")
    assert loaded.isdisjoint({"asyncio", "aiohttp", "kubeio.client", "ssl"})


def test_the_version_is_that_of_the_distribution() -> None:
    assert importlib.metadata.version("kubectl-kudo") == __version__


def test_the_version_is_printed_as_text_or_data(run: Cli) -> None:
    text = run("version")
    assert text.out.startswith(f'KUDO Version: version.Info{{GitVersion:"{__version__}", ')
    assert json.loads(run("version", "-o", "json").out)["clientVersion"]["gitVersion"] == (
        __version__
    )
    assert run("version", "-o", "yaml").out.startswith("clientVersion:\n  compiler: cpython\n")


def test_get_loads_templates_only_for_those_who_have_one() -> None:
    loaded = imported("import kubectl_kudo.get.list_objects")
    assert not {module for module in loaded if module.startswith("kubectl_kudo.jsonpath")}
