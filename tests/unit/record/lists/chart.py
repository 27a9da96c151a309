"""The objects that the chart renders by default; `tests/chart/golden` has the render itself."""

import hashlib
from pathlib import Path

import yaml

from kubectl_kudo import __version__

_GOLDEN = Path(__file__).resolve().parents[3] / "chart" / "golden" / "default.yaml"


def text() -> str:
    """Return a line for each object, and the digest of what it has beside the version of KUDO."""
    rendered = _GOLDEN.read_text(encoding="utf-8").replace(__version__, "<version>")
    documents = yaml.safe_load_all(rendered)
    lines = [_line(obj) for obj in documents if obj]
    return "".join(sorted(lines))


def _line(obj: dict[str, object]) -> str:
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    place = f"{metadata['namespace']}/" if "namespace" in metadata else ""
    digest = hashlib.sha256(yaml.safe_dump(obj).encode()).hexdigest()[:16]
    return f"{obj['apiVersion']} {obj['kind']} {place}{metadata['name']} sha256 {digest}\n"
