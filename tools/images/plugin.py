"""`python -m tools.images.plugin [--into DIRECTORY] [--release-url URL]`: build the CLI.

Writes to the directory: the wheels of the CLI and of our packages that it needs; `kubectl-kudo`, a
single file that unpacks itself, for this platform and this version of Python; an archive of it; and
a manifest for krew that names every archive of this version in the directory. The same commit gives
the same bytes. Exit codes: 0 all written, 1 something failed.
"""

import argparse
import gzip
import hashlib
import io
import os
import shutil
import sys
import tarfile
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from kudo_cluster.programs.golang import target
from tools.images.commands import DeliveryError, run
from tools.images.version import ROOT, Version, current

PROGRAM = "kubectl-kudo"
_LIBRARIES = ("goyaml", "gotemplate", "kubecel", "kubeio", "kudo", "harness")
_PACKAGES = (*(f"libs/{name}" for name in _LIBRARIES), "cli")
_ENTRY = "kubectl_kudo.__main__:main"
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_NO_URL = "PLACEHOLDER-FOR-THE-URL-OF-THE-RELEASE"


def build(directory: Path, version: Version, release_url: str = _NO_URL) -> None:
    """Write wheels, single file, archive and manifest to a directory.

    Args:
        directory: is created if missing; files of this version are replaced.
        version: the version to build.
        release_url: where the archives will be downloaded from, without the name of the file.

    Raises:
        DeliveryError: a step failed, for example because packages cannot be fetched.
    """
    os.umask(0o022)
    directory.mkdir(parents=True, exist_ok=True)
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(version.timestamp)}
    with tempfile.TemporaryDirectory(prefix="kudo-cli-") as scratch:
        tools = _environment(Path(scratch, "tools"))
        pip = [str(tools / "python"), "-m", "pip"]
        run([*pip, "install", "--require-hashes", "-r", ROOT / "requirements" / "build.txt"])
        _wheels(pip, directory, environ)
        packages = _fill(pip, Path(scratch, "packages"), directory)
        shiv = [str(tools / "shiv"), "--reproducible", "--entry-point", _ENTRY]
        shiv += ["--python", f"/usr/bin/env {_PYTHON}", "--site-packages", str(packages)]
        run([*shiv, "--output-file", directory / PROGRAM], environ=environ)
    _archive(directory, version)
    write_manifest(directory, version, release_url)


def archive_name(version: Version) -> str:
    """Name the archive of this platform, such as kubectl-kudo-0.1.0-linux-amd64-py311.tar.gz."""
    platform = "-".join((*target(), f"py{sys.version_info.major}{sys.version_info.minor}"))
    return f"{PROGRAM}-{version.number}-{platform}.tar.gz"


def write_manifest(directory: Path, version: Version, release_url: str = _NO_URL) -> None:
    """Write `kudo.yaml` for krew, with every archive of this version in the directory."""
    rest = {
        "version": f"v{version.number}",
        "platforms": list(_platforms(directory, version, release_url)),
    }
    # The file in the repository ends within `spec`.
    text = (ROOT / "krew" / "kudo.yaml").read_text(encoding="utf-8")
    text += textwrap.indent(yaml.safe_dump(rest, sort_keys=False, width=100), "  ")
    (directory / "kudo.yaml").write_text(text, encoding="utf-8")


def _environment(path: Path) -> Path:
    """Create a virtual environment and return the directory of its programs."""
    run([sys.executable, "-m", "venv", path])
    return path / "bin"


def _wheels(pip: list[str], directory: Path, environ: dict[str, str]) -> None:
    for old in directory.glob("*.whl"):
        old.unlink()
    sources = [ROOT / package for package in _PACKAGES]
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    run([*pip, "wheel", *options, directory, *sources], environ=environ)


def _fill(pip: list[str], environment: Path, wheels: Path) -> Path:
    """Install the CLI into an environment of its own, and return the directory of its packages."""
    run([sys.executable, "-m", "venv", "--without-pip", environment])
    install = [*pip, "--python", str(environment / "bin" / "python"), "install", "--no-compile"]
    lock = ROOT / "requirements" / "cli.txt"
    run([*install, "--require-hashes", "--only-binary", ":all:", "-r", lock])
    # By name, so that no path of this machine is recorded; nothing else may be needed.
    run([*install, "--no-index", "--find-links", wheels, PROGRAM])
    packages = environment / "lib" / _PYTHON / "site-packages"
    for tests in [path for path in packages.rglob("tests") if path.is_dir()]:
        shutil.rmtree(tests)
    # Only pip reads these; they hold digests of programs with the path of this environment.
    for record in packages.glob("*.dist-info/RECORD"):
        record.unlink()
    return packages


def _archive(directory: Path, version: Version) -> None:
    with (
        (directory / archive_name(version)).open("wb") as stream,
        gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for path, mode in ((directory / PROGRAM, 0o755), (ROOT / "LICENSE", 0o644)):
            content = path.read_bytes()
            entry = tarfile.TarInfo(path.name)
            entry.size, entry.mode, entry.mtime = len(content), mode, version.timestamp
            tar.addfile(entry, io.BytesIO(content))


def _platforms(directory: Path, version: Version, release_url: str) -> Iterator[dict[str, Any]]:
    for path in sorted(directory.glob(f"{PROGRAM}-{version.number}-*.tar.gz")):
        system, architecture, _ = path.name.removesuffix(".tar.gz").rsplit("-", 3)[1:]
        yield {
            "selector": {"matchLabels": {"os": system, "arch": architecture}},
            "uri": f"{release_url}/{path.name}",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bin": PROGRAM,
            "files": [{"from": name, "to": "."} for name in (PROGRAM, "LICENSE")],
        }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.images.plugin", description=__doc__)
    parser.add_argument("--into", type=Path, default=Path("dist"), metavar="DIRECTORY")
    parser.add_argument("--release-url", default=_NO_URL, metavar="URL")
    options = parser.parse_args()
    try:
        build(options.into.resolve(), current(), options.release_url)
    except DeliveryError as error:
        sys.exit(f"error: {error}")
    print(*sorted(options.into.iterdir()), sep="\n")


if __name__ == "__main__":
    main()
