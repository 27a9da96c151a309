"""Writes packages as folders."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.build import Json


def write_package(
    folder: Path,
    *,
    templates: Mapping[str, str],
    parameters: Sequence[Json] = (),
    **operator: Any,
) -> Path:
    """Write a package and return its folder; templates are named without `.yaml`."""
    (folder / "templates").mkdir(parents=True)
    fields = {"kubernetesVersion": "1.25.0", **operator}
    (folder / "operator.yaml").write_text(json.dumps(fields), encoding="utf-8")
    declared = {"parameters": list(parameters)}
    (folder / "params.yaml").write_text(json.dumps(declared), encoding="utf-8")
    for name, text in templates.items():
        (folder / "templates" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder
