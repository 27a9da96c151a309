"""Puts the packages of `examples/` into the wheel, which an editable installation reads in place.

A package is a folder with an operator.yaml. Its tests, and what its images are made of, stay out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EXAMPLES = Path(__file__).parents[1] / "examples"
TARGET = "kubectl_kudo/examples"
_LEFT_OUT = frozenset({"golden", "image", "tests", "__pycache__"})


class Examples(BuildHookInterface[Any]):
    """A build hook of hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to a wheel.

        Raises:
            FileNotFoundError: the examples are not beside the command line.
        """
        if version == "editable":
            return
        files = {str(path): f"{TARGET}/{path.relative_to(EXAMPLES)}" for path in _files(EXAMPLES)}
        if not files:
            raise FileNotFoundError(f"no packages in {EXAMPLES}: build from the whole repository")
        build_data["force_include"].update(files)


def _files(folder: Path) -> Iterator[Path]:
    packages = {path.parent for path in folder.rglob("operator.yaml")}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        in_package = not packages.isdisjoint(path.parents)
        if path.is_file() and in_package and _LEFT_OUT.isdisjoint(inside):
            yield path
