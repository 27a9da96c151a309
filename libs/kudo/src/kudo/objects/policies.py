"""Annotations of objects of templates whose values are words of a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kudo.api.problems import shown

if TYPE_CHECKING:  # the models cost the command line a third of its time
    from kudo.api import Json


def says(metadata: Mapping[str, Json], key: str, word: str) -> bool:
    """Return whether an annotation has a value."""
    annotations = metadata.get("annotations")
    return isinstance(annotations, dict) and annotations.get(key) == word


def problem_of(metadata: Mapping[str, Json], key: str, words: tuple[str, ...]) -> str:
    """Return what is wrong with an annotation; empty if nothing is, or if there is none."""
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict) or key not in annotations:
        return ""
    value = annotations[key]
    if value in words:
        return ""
    told = repr(shown(value)) if isinstance(value, str) else "no text"
    return f"the annotation {key} is {told}; it can be {' or '.join(words)}"
