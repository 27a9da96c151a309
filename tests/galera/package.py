"""A newer version of the operator package, made of the one of examples/galera."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "examples" / "galera"
_VERSION = r'(?m)^(operatorVersion: *"?)(\d+)'


def newer(into: Path, defaults: Mapping[str, str], package: Path = PACKAGE) -> Path:
    """Copy a package, and give the copy a higher operatorVersion and other defaults.

    Args:
        into: The directory of the copy, which does not exist yet.
        defaults: The new default of each parameter, as YAML of one line.
        package: What is copied.
    """
    shutil.copytree(package, into)
    version = into / "operator.yaml"
    [(start, major)] = re.findall(_VERSION, version.read_text(encoding="utf-8"))
    _replace(version, _VERSION, f"{start}{int(major) + 1}")
    for name, value in defaults.items():
        pattern = rf"(?m)^(\s*- name: {name}\n(?:\s+(?!- ).*\n)*?\s+default: ).*$"
        [start] = re.findall(pattern, (into / "params.yaml").read_text(encoding="utf-8"))
        _replace(into / "params.yaml", pattern, f"{start}{value}")
    return into


def _replace(path: Path, pattern: str, text: str) -> None:
    replaced = re.sub(pattern, lambda _: text, path.read_text(encoding="utf-8"))
    path.write_text(replaced, encoding="utf-8")
