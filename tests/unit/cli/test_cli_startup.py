"""What a start costs: help and version import nothing heavy, commands no more than they use."""

import importlib.metadata
from pathlib import Path

from kubectl_kudo import __version__
from tests.unit.cli.conftest import KUBECONFIG
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.imports import imported

EXAMPLES = Path(__file__).parents[3] / "examples"
HELPED = ("init", "install", "test", "package", "package list", "repo")
"""The help of `package add` asks for the kinds of tasks."""
HEAVY = ("asyncio", "aiohttp", "pydantic", "yaml", "kubeio.client", "kudo.api", "logging", "typing")


def test_help_and_version_import_nothing_heavy() -> None:
    lines = ("version", "brew", "--help", *(f"{words} --help" for words in HELPED))
    loaded = imported(f"from kubectl_kudo.__main__ import main; [main(x.split()) for x in {lines}]")
    assert loaded.isdisjoint(HEAVY)


def test_commands_that_read_and_patch_do_without_models() -> None:
    modules = (
        *("get.list_objects", "get.describe_instance", "instances.removing.delete_instance"),
        *("plans.trigger_plan", "plans.show_status", "plans.show_history"),
        *("plans.wait_for_plan", "plans.cancel_plan"),
    )
    loaded = imported("".join(f"import kubectl_kudo.{module}\n" for module in modules))
    assert "kubeio.client" in loaded
    assert loaded.isdisjoint({"pydantic", "kudo.api", "kubernetes_asyncio", "gotemplate", "goyaml"})
    # Only who has a template needs what evaluates it.
    assert not {module for module in loaded if module.startswith("kubectl_kudo.jsonpath")}


OURS = {"kubectl_kudo", "kubeio", "kudo", "goyaml", "gotemplate"}

FORBIDDEN = {
    "concurrent.futures.process": "worker processes are of the services",
    "cryptography": "only `init` and templates make certificates",
    "difflib": "suggestions are made after an error",
    "goyaml": "the kubeconfig is plain YAML",
    "gotemplate": "only packages have templates",
    "importlib.metadata": "the version is a constant",
    "jsonpatch": "the server applies patches",
    "kubernetes_asyncio": "only `kubeio.connection` needs it, for credential plugins",
    "kudo.admission": "only dry runs evaluate rules",
    "kudo.api": "objects are read as JSON; the models cost 100 ms",
    "kudo.packages": "no package is read",
    "kudo.repositories": "no repository is read",
    "multiprocessing": "worker processes are of the services",
    "pydantic": "objects are read as JSON",
    "xml": "nothing is XML",
}
"""Modules that `get` must not load, and why it can do without them."""


def _loaded_by(argv: list[str], code: int = 0) -> set[str]:
    check = f"assert main({argv!r}) == {code}"
    return imported(f"from kubectl_kudo.__main__ import main; {check}")


def test_get_loads_nothing_that_is_forbidden(api: FakeApi, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(url=api.url))
    loaded = _loaded_by(["get", "all", "--kubeconfig", str(kubeconfig)])
    assert "kubeio.client" in loaded
    assert {name: why for name, why in FORBIDDEN.items() if name in loaded} == {}


def test_version_loads_these_modules_of_ours_and_no_other() -> None:
    loaded = _loaded_by(["version"])
    own = {name for name in loaded if name.split(".")[0] in OURS}
    assert own == {
        "kubectl_kudo",
        "kubectl_kudo.__main__",
        "kubectl_kudo.catalogue",
        "kubectl_kudo.core",
        *(
            f"kubectl_kudo.core.{name}"
            for name in ("arguments", "command", "errors", "output", "terminal")
        ),
        "kubectl_kudo.version",
    }


def test_search_in_a_folder_needs_no_http_client(tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    (tmp_path / "index.yaml").write_text("apiVersion: v1\nentries: {}\n")
    settings = f"context: own\nrepositories: [{{name: own, url: 'file://{tmp_path}'}}]\n"
    (tmp_path / "repository" / "repositories.yaml").write_text(settings)
    loaded = _loaded_by(["search", "", "--home", str(tmp_path)])
    assert loaded.isdisjoint({"aiohttp", "kudo.api", "kudo.packages", "kubeio.client", "pydantic"})


def test_verifying_and_rendering_a_package_needs_nothing_of_the_network() -> None:
    package = str(EXAMPLES / "first-operator")
    loaded = imported(
        "from kubectl_kudo.__main__ import main\n"
        f"assert main(['package', 'verify', {package!r}]) == 0\n"
        f"assert main(['package', 'render', {package!r}]) == 0\n"
    )
    assert loaded.isdisjoint({"asyncio", "aiohttp", "kubeio.client", "ssl"})


def test_the_version_is_that_of_the_distribution() -> None:
    assert importlib.metadata.version("kubectl-kudo") == __version__
