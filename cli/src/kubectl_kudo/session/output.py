"""Prints data and result lines to stdout, and everything else to stderr.

Both are clean: see `core.terminal`. JSON and YAML have escapes of their own for the characters that
a terminal would act on, so that both stay exact.
"""

import json
import sys
from collections.abc import Iterable
from typing import Any

from kubectl_kudo.session.blocks import Block
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.terminal import coloured, in_json

JsonObject = dict[str, Any]

_WRONG_FORMAT = "invalid output format, only support 'yaml' or 'json' or empty"


def say(line: str = "") -> None:
    """Print a result line, flushed at once because scripts read line by line."""
    print(line, flush=True)


def talk(line: str) -> None:
    """Print a message that is not a result to stderr."""
    print(line, file=sys.stderr, flush=True)


def show(*blocks: Block) -> None:
    """Print blocks to stdout: drawn on a terminal, plain into a pipe or file."""
    if not sys.stdout.isatty():
        print("".join(block.plain() for block in blocks), end="", flush=True)
        return
    # A pipe needs no rich, which takes as long to import as all that shows an Instance.
    from kubectl_kudo.session.screen import draw_blocks

    draw_blocks(blocks, sys.stdout)


def warn(text: str) -> None:
    """Show a warning of the API server."""
    if not coloured(sys.stderr):
        talk(f"Warning: {text}")
        return
    from kubectl_kudo.session.screen import draw_warning

    draw_warning(text, sys.stderr)


def check_format(output: str) -> None:
    """Raise UsageError if the value of `-o` is unknown."""
    if output not in {"", "yaml", "json"}:
        raise UsageError(_WRONG_FORMAT)


def one(obj: JsonObject, output: str) -> str:
    """Return one object as text."""
    return f"{_yaml(obj)}\n" if output == "yaml" else f"{_json(obj)}\n"


def many(objects: Iterable[JsonObject], output: str) -> str:
    """Return objects as a stream of YAML documents, or as a JSON array."""
    if output == "yaml":
        return "".join(f"---\n{_yaml(obj)}\n" for obj in objects) + "...\n"
    return f"{_json(list(objects))}\n"


def without_bookkeeping(obj: JsonObject) -> JsonObject:
    """Return the object as `kubectl get` shows it, without managedFields."""
    metadata = obj.get("metadata") or {}
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**obj, "metadata": kept}


def _json(value: JsonObject | list[JsonObject]) -> str:
    return in_json(json.dumps(value, indent=2, ensure_ascii=False))


def _yaml(obj: JsonObject) -> str:
    from kudo.packages.readable_yaml import dump

    return dump(obj, sort_keys=True)
