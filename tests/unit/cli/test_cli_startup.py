"""What a start costs: libraries that are slow to import are loaded only where they are used."""

import importlib.metadata
from pathlib import Path

from kubectl_kudo import __version__
from tests.unit.cli.conftest import KUBECONFIG
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.imports import imported

EXAMPLES = Path(__file__).parents[3] / "examples"
GROUPS = ("", "plan", "package", "package add", "package list", "repo")
HEAVY = ("aiohttp", "kubeio.client", "kudo.api.base", "pydantic")


def test_version_and_the_help_of_groups_import_nothing_heavy() -> None:
    lines = ("version", "brew", *(f"{words} --help" for words in GROUPS))
    loaded = imported(f"from kubectl_kudo.__main__ import main; [main(x.split()) for x in {lines}]")
    assert loaded.isdisjoint(HEAVY)


FORBIDDEN = {
    "concurrent.futures.process": "worker processes are of the services",
    "cryptography": "only `init` and templates make certificates",
    "kubernetes_asyncio": "only `kubeio.connection` needs it, for credential plugins",
    "multiprocessing": "worker processes are of the services",
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


def test_search_in_a_folder_needs_no_http_client(tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    (tmp_path / "index.yaml").write_text("apiVersion: v1\nentries: {}\n")
    settings = f"context: own\nrepositories: [{{name: own, url: 'file://{tmp_path}'}}]\n"
    (tmp_path / "repository" / "repositories.yaml").write_text(settings)
    loaded = _loaded_by(["search", "", "--home", str(tmp_path)])
    assert "aiohttp" not in loaded


def test_verifying_and_rendering_a_package_needs_nothing_of_the_network() -> None:
    package = str(EXAMPLES / "first-operator")
    loaded = imported(
        "from kubectl_kudo.__main__ import main\n"
        f"assert main(['package', 'verify', {package!r}]) == 0\n"
        f"assert main(['package', 'render', {package!r}]) == 0\n"
    )
    assert loaded.isdisjoint({"aiohttp", "kubeio.client"})


def test_the_version_is_that_of_the_distribution() -> None:
    assert importlib.metadata.version("kubectl-kudo") == __version__
