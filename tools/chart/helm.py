"""Builds Helm with Go, once, into the cache of binaries, and renders the chart with it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]

VERSION = "v4.3.1"
CHART = Path(__file__).resolve().parents[2] / "charts" / "kudo"
RELEASE, NAMESPACE = "kudo", "kudo-system"
_PACKAGE = f"helm.sh/helm/v4/cmd/helm@{VERSION}"


class HelmError(Exception):
    """Helm cannot be built, or failed; the text is its output."""


def binary() -> Path:
    """Return the path of Helm, building it if it is not cached.

    Raises:
        HelmError: Go is missing, or cannot build it.
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "kudo" / "bin" / f"helm-{VERSION}"
    if not (folder / "helm").exists():
        _build(folder)
    return folder / "helm"


def helm(*arguments: str, kubeconfig: Path | None = None) -> str:
    """Run Helm and return what it prints, its log with it if `--debug` asks for one.

    Args:
        arguments: Of the command line.
        kubeconfig: How to reach the cluster; without one, none is reached.

    Raises:
        HelmError: it failed; the text is what it printed on standard error.
    """
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig or os.devnull)}
    done = subprocess.run(
        [str(binary()), *arguments], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise HelmError(done.stderr.strip())
    return done.stdout + (done.stderr if "--debug" in arguments else "")


def template(values: Mapping[str, Any] | None = None, *, options: Sequence[str] = ()) -> str:
    """Render the chart without a cluster, as YAML.

    Args:
        values: What differs from values.yaml.
        options: More options of `helm template`.

    Raises:
        HelmError: the values are rejected.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(dict(values or {}), file)
        file.flush()
        return helm(
            "template", RELEASE, str(CHART), f"--namespace={NAMESPACE}", f"--values={file.name}",
            *options,
        )  # fmt: skip


def render(values: Mapping[str, Any] | None = None) -> list[Json]:
    """Render the chart without a cluster, hooks included; raises HelmError as `template` does."""
    return [manifest for manifest in yaml.safe_load_all(template(values)) if manifest]


def _build(folder: Path) -> None:
    sys.stderr.write(f"==> building Helm {VERSION} into {folder} (once; takes minutes)\n")
    folder.mkdir(parents=True, exist_ok=True)
    # Built in a scratch folder and renamed: of processes that build at once, none sees half a file.
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        own = {"GOBIN": scratch, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
        command = ["go", "install", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", _PACKAGE]
        try:
            done = subprocess.run(
                command, cwd=scratch, env={**os.environ, **own}, capture_output=True, text=True
            )
        except FileNotFoundError as error:
            raise HelmError("Go is not installed; it is needed to build Helm") from error
        if done.returncode:
            raise HelmError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
        (Path(scratch) / "helm").rename(folder / "helm")


if __name__ == "__main__":
    sys.stdout.write(f"{binary()}\n")
