"""The CRDs: their digest, and each field with its type and whether it is required."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_CRDS = Path(__file__).resolve().parents[4] / "crds"
_KEPT = ("enum", "default", "format", "pattern", "minimum", "maximum", "minLength", "maxLength",
         "minItems", "maxItems", "maxProperties", "nullable", "x-kubernetes-list-type",
         "x-kubernetes-preserve-unknown-fields")  # fmt: skip


def text() -> str:
    return "\n".join("".join(_lines(path)) for path in sorted(_CRDS.glob("*.yaml")))


def _lines(path: Path) -> Iterator[str]:
    content = path.read_bytes()
    spec = yaml.safe_load(content)["spec"]
    names = spec["names"]
    yield f"{path.name} sha256 {hashlib.sha256(content).hexdigest()[:16]}\n"
    words = [names["plural"], names["kind"], *names.get("shortNames", ())]
    yield f"  {spec['group']} {spec['scope']}: {', '.join(words)}\n"
    for version in spec["versions"]:
        subresources = ", ".join(version.get("subresources") or ("none",))
        yield f"  version {version['name']}, subresources: {subresources}\n"
        for column in version.get("additionalPrinterColumns") or ():
            yield f"    column {column['name']}: {column['jsonPath']} ({column['type']})\n"
        for field in version.get("selectableFields") or ():
            yield f"    selectable {field['jsonPath']}\n"
        yield from _fields(version["schema"]["openAPIV3Schema"], "")


def _fields(schema: dict[str, Any], path: str) -> Iterator[str]:
    required = set(schema.get("required") or ())
    for name, field in (schema.get("properties") or {}).items():
        yield f"    {path}.{name}: {_told(field)}{', required' if name in required else ''}\n"
        yield from _fields(field, f"{path}.{name}")
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        inner = schema.get(key)
        if isinstance(inner, dict):
            yield f"    {path}{mark}: {_told(inner)}\n"
            yield from _fields(inner, f"{path}{mark}")


def _told(field: dict[str, Any]) -> str:
    kept = [f"{key} {field[key]!r}" for key in _KEPT if key in field]
    rules = [f"rule {rule['rule']}" for rule in field.get("x-kubernetes-validations") or ()]
    kind = field.get("type") or (
        "int or string" if "x-kubernetes-int-or-string" in field else "any"
    )
    return ", ".join([kind, *kept, *rules])
