"""Packages that depend on each other, written as folders and archives."""

import tarfile
from collections.abc import Iterable
from pathlib import Path


def operator(name: str, *needs: str, version: str = "0.1.0", more: str = "") -> str:
    """Return an `operator.yaml` with one KudoOperator task for each package that it needs.

    A need is what stands in the task: `./b`, or `./b operatorVersion=2.0.0`.
    """
    lines = [f"name: {name}", f"operatorVersion: {version}", "kubernetesVersion: 1.25.0"]
    lines += [more] if more else []
    lines += ["tasks:", "- {name: own, kind: Dummy, spec: {done: true}}"]
    for number, need in enumerate(needs):
        package, *versions = need.split()
        spec = ", ".join([f"package: {package}", *(one.replace("=", ": ") for one in versions)])
        lines.append(f"- {{name: t{number}, kind: KudoOperator, spec: {{{spec}}}}}")
    tasks = ", ".join(["own", *(f"t{number}" for number in range(len(needs)))])
    steps = f"[{{name: s, tasks: [{tasks}]}}]"
    lines.append(f"plans: {{deploy: {{phases: [{{name: p, steps: {steps}}}]}}}}")
    return "\n".join(lines)


def write(folder: Path, text: str, **templates: str) -> Path:
    """Write a package with this `operator.yaml` and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "operator.yaml").write_text(text)
    (folder / "params.yaml").write_text("")
    for name, template in templates.items():
        (folder / "templates").mkdir(exist_ok=True)
        (folder / "templates" / f"{name}.yaml").write_text(template)
    return folder


def pack(folder: Path, archive: Path) -> Path:
    """Write all of a folder into a `.tgz` archive and return that."""
    with tarfile.open(archive, "w:gz") as tar:
        for path in _files(folder):
            if path != archive:
                tar.add(path, path.relative_to(folder))
    return archive


def _files(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
