"""The jobs of both services, in worker processes where one value or template takes all memory.

It is the one with the word LARGE in it. Imported by worker processes alone.
"""

from typing import Any

from goyaml import load
from kudo.jobs import HANDLERS as OF_RECONCILER
from kudo.jobs import prepare, render, report_to, review
from kudo.parameters import template, values

MARK = "LARGE"
_make = render.make


def _load(text: str, **options: Any) -> Any:
    if MARK in text:
        raise MemoryError
    return load(text, **options)


def _make_or_fail(request: render.Request, *arguments: Any, **options: Any) -> Any:
    if MARK in request.templates[options["resource"]]:
        raise MemoryError
    return _make(request, *arguments, **options)


for module, name, function in (
    (values, "load", _load),
    (template, "load", _load),
    (render, "make", _make_or_fail),
):
    vars(module)[name] = function
HANDLERS = {**OF_RECONCILER, **review.HANDLERS}
__all__ = ["HANDLERS", "prepare", "report_to"]
