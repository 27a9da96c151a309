"""The differences between golden files and what a package renders, as text."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import goyaml
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.terminal import clean
from kubectl_kudo.testing.golden.rendering import Rendered
from kudo.redaction.objects import Redactor
from kudo.redaction.texts import redact_text

MOST_LINES: Final = 200
"""Lines of the differences of one file that are shown."""
_MOST_COMPARED: Final = 20_000
"""Lines of a file up to which lines are compared; the time grows with their square."""


def differences(folder: str, golden: Mapping[str, str], rendered: Rendered) -> Iterator[str]:
    """Yield a text for each file that is missing, superfluous or different.

    Args:
        folder: The folder of the golden files, as it is shown.
        golden: Their texts, by path.
        rendered: What the package renders.
    """
    redactor = Redactor()
    redactor.learn([*rendered.objects, *_objects(golden.values())])
    for path in sorted({*golden, *rendered.texts}):
        shown = f"{folder}/{path}"
        before, after = golden.get(path), rendered.texts.get(path)
        if path in rendered.unsteady:
            yield unsteady(shown)
        elif after is None:
            yield f"{shown}: nothing renders it any more"
        elif before is None:
            yield f"{shown}: there is no such file yet"
        elif before != after:
            lines = "\n".join(_lines(shown, before, after))
            yield clean(redact_text(lines, redactor.known))


def unsteady(shown: str) -> str:
    """Return why a file cannot be kept."""
    return (
        f"{shown}: a template renders something else each time, such as a random value or the "
        "time; give the package a parameter for it, and its value in params.yaml"
    )


def _lines(shown: str, before: str, after: str) -> Iterator[str]:
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _MOST_COMPARED:
        yield f"{shown}: differs, and has too many lines to say where"
        return
    found = list(difflib.unified_diff(old, new, shown, f"{shown} (rendered)", lineterm=""))
    if not found:
        yield f"{shown}: differs in the ends of lines"
    yield from found[:MOST_LINES]
    if len(found) > MOST_LINES:
        yield f"… {len(found) - MOST_LINES} more lines"


def _objects(texts: Iterable[str]) -> Iterator[JsonObject]:
    """Yield the objects of golden files, for the values that are secret."""
    for text in texts:
        try:
            documents = goyaml.load_all(text)
        except goyaml.YamlError:
            # Somebody has edited it; the differences show where.
            continue
        yield from (one for one in documents if isinstance(one, dict))
