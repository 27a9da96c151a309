"""What is delivered with the single file: wheels, an archive, a manifest; twice the same bytes."""

import hashlib
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.plugin.conftest import DIST
from tools.images.plugin import archive_name, build, write_manifest
from tools.images.version import ROOT, Version, current

pytestmark = pytest.mark.usefixtures("single_file")


def digests(directory: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in directory.iterdir()}


def test_the_wheels_are_the_cli_and_what_it_needs_of_ours() -> None:
    names = {path.name.split("-")[0] for path in DIST.glob("*.whl")}
    libraries = {"core", "gotemplate", "goyaml", "harness", "kubecel", "kubeio"}
    assert names == {"kubectl_kudo", *(f"kudo_{library}" for library in libraries)}
    (cli,) = DIST.glob("kubectl_kudo-*.whl")
    with zipfile.ZipFile(cli) as wheel:
        (entries,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
        assert "kubectl-kudo = kubectl_kudo.__main__:main" in wheel.read(entries).decode()


def test_krew_finds_the_program_of_the_archive_under_the_digest_that_it_is_told() -> None:
    manifest = yaml.safe_load((DIST / "kudo.yaml").read_text())
    assert (manifest["kind"], manifest["metadata"]["name"]) == ("Plugin", "kudo")
    assert manifest["spec"]["version"] == f"v{current().number}"
    (platform,) = manifest["spec"]["platforms"]
    name = platform["uri"].rpartition("/")[2]
    assert name == archive_name(current())
    assert platform["sha256"] == hashlib.sha256((DIST / name).read_bytes()).hexdigest()
    with tarfile.open(DIST / name) as archive:
        assert sorted(archive.getnames()) == sorted(entry["from"] for entry in platform["files"])
        assert archive.getmember(platform["bin"]).mode == 0o755


def test_archives_of_other_platforms_are_named_too(tmp_path: Path) -> None:
    version = Version("1.2.3", "unknown", 0)
    for name in ("linux-amd64-py311", "darwin-arm64-py313"):
        (tmp_path / f"kubectl-kudo-1.2.3-{name}.tar.gz").write_text(name)
    (tmp_path / "kubectl-kudo-1.2.2-linux-arm64-py311.tar.gz").touch()
    write_manifest(tmp_path, version, "https://releases.example.com/v1.2.3")
    spec = yaml.safe_load((tmp_path / "kudo.yaml").read_text())["spec"]
    assert [
        (p["selector"]["matchLabels"], p["uri"].rpartition("/")) for p in spec["platforms"]
    ] == [
        (
            {"os": system, "arch": architecture},
            (
                "https://releases.example.com/v1.2.3",
                "/",
                f"kubectl-kudo-1.2.3-{system}-{architecture}-{python}.tar.gz",
            ),
        )
        for system, architecture, python in (
            ("darwin", "arm64", "py313"),
            ("linux", "amd64", "py311"),
        )
    ]


def test_nothing_in_the_repository_names_a_place_of_the_release() -> None:
    assert "uri" not in (ROOT / "krew" / "kudo.yaml").read_text()


def test_the_same_commit_gives_the_same_bytes(tmp_path: Path) -> None:
    with tarfile.open(DIST / archive_name(current())) as archive:
        timestamp = int(archive.getmember("LICENSE").mtime)
    build(tmp_path, Version(current().number, "unknown", timestamp))
    again, before = digests(tmp_path), digests(DIST)
    assert again == {name: before.get(name) for name in again}
