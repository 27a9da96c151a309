"""Prints data and result lines to stdout, and everything else to stderr.

Both are clean: see `session.terminal`. JSON and YAML have escapes of their own for the characters
that a terminal would act on, so that both stay exact. Where `-o` asks for objects, stdout is for
them alone, and the result lines of a command go to stderr.
"""

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubectl_kudo.session.arguments import CLIENT, NONE, SERVER
from kubectl_kudo.session.blocks import Block, printable
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.terminal import coloured, continued, in_json

JsonObject = dict[str, Any]

_SUFFIX: Final = {NONE: "", CLIENT: " (dry run)", SERVER: " (server dry run)"}
"""What kubectl appends to the result lines of a dry run."""
TABLE, WIDE, TREE = "table", "wide", "tree"
_FORMATS = (TABLE, WIDE, TREE, "json", "yaml", "name")
_OF_KUBECTL = (
    *("jsonpath", "jsonpath-file", "jsonpath-as-json", "custom-columns", "custom-columns-file"),
    *("go-template", "go-template-file", "template", "templatefile"),
)


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
        # The text of KUDO 0.19.
        raise UsageError("invalid output format, only support 'yaml' or 'json' or empty")


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


def read_format(text: str, kinds: Sequence[str] = ()) -> str:
    """Return the format that `-o` names.

    Args:
        text: The value of `-o`.
        kinds: What is listed, as `plural.group`; kubectl has no kind for what an Instance owns.

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
    command = f"kubectl get {','.join(kinds)} -o {printable(shlex.quote(text))}"
    raise UsageError(f"{name} is a format of kubectl: {command}")


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


@dataclass(frozen=True, slots=True)
class Report:
    """Prints the results of one command.

    Attributes:
        mode: The value of `--dry-run`.
        output: The value of `-o`.
    """

    mode: str = NONE
    output: str = ""

    @property
    def dry(self) -> bool:
        """Whether nothing is stored."""
        return self.mode != NONE

    def done(self, text: str) -> None:
        """Print a line about a write."""
        self.say(f"{text}{_SUFFIX[self.mode]}")

    def say(self, text: str) -> None:
        """Print any other text; its further lines are indented."""
        (talk if self.output else say)(continued(text))

    def foretell(self, plan: str | None) -> None:
        """Print which plan a dry run would start; prints nothing after a real write.

        Args:
            plan: The plan; empty if the reconciler would choose it, None if none would run.
        """
        if not self.dry:
            return
        if plan is None:
            self.say("no plan would run")
        elif plan:
            self.say(f"plan {plan} would run")
        else:
            self.say("the reconciler would choose the plan: no webhook of KUDO answered")

    def show(self, obj: JsonObject) -> None:
        """Print the object that would be written, if `-o` was given."""
        if self.output:
            print(one(without_bookkeeping(obj), self.output), end="")

    def show_all(self, objects: list[JsonObject]) -> None:
        """Print the objects that would be written, if `-o` was given."""
        if self.output:
            print(many(map(without_bookkeeping, objects), self.output), end="")
