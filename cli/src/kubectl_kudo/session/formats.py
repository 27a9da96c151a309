"""The output formats of `kubectl kudo get`: reading the value of `-o`, and printing objects."""

import shlex
from collections.abc import Sequence

from kubectl_kudo.session.cells import printable
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.output import JsonObject, many, one, without_bookkeeping
from kubeio.resource import Resource

TABLE, WIDE, TREE = "table", "wide", "tree"
_FORMATS = (TABLE, WIDE, TREE, "json", "yaml", "name")
_OF_KUBECTL = (
    *("jsonpath", "jsonpath-file", "jsonpath-as-json", "custom-columns", "custom-columns-file"),
    *("go-template", "go-template-file", "template", "templatefile"),
)


def read_format(text: str, kinds: Sequence[Resource] = ()) -> str:
    """Return the format that `-o` names.

    Args:
        text: The value of `-o`.
        kinds: What is listed; kubectl has no kind for what an Instance owns.

    Raises:
        UsageError: there is no such format; of one of kubectl's it says the command of kubectl.
    """
    if text in _FORMATS:
        return text
    name = text.partition("=")[0]
    if name not in _OF_KUBECTL:
        raise UsageError(f'invalid output format "{printable(text)}": use {_choices(_FORMATS)}')
    if not kinds:
        raise UsageError(f"objects have no {name}: use {_choices(('json', 'yaml', 'name'))}")
    named = ",".join(f"{kind.plural}.{kind.group}" for kind in kinds)
    raise UsageError(
        f"{name} is a format of kubectl: kubectl get {named} -o {printable(shlex.quote(text))}"
    )


def _choices(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def show_data(objects: Sequence[JsonObject], output: str, *, single: bool) -> None:
    """Print objects in one of the formats that are neither table nor tree.

    Args:
        objects: The objects.
        output: The format.
        single: Whether there is one object that was asked for by name: it is printed without a
            list.
    """
    if output == "name":
        print("".join(f"{reference(obj)}\n" for obj in objects), end="")
    else:
        shown = [without_bookkeeping(obj) for obj in objects]
        print(one(shown[0], output) if single else many(shown, output), end="")


def reference(obj: JsonObject) -> str:
    """Return how kubectl names an object, such as `instance.kudo.dev/web`."""
    group, _, _ = str(obj["apiVersion"]).rpartition("/")
    kind = ".".join(filter(None, (str(obj["kind"]).lower(), group)))
    return f"{kind}/{obj['metadata']['name']}"
