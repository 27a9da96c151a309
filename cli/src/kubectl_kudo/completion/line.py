"""Reads an unfinished command line: which command it names, and what the last word names."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field

from kubectl_kudo.completion.scripts import SHELLS
from kubectl_kudo.session.arguments import DRY_RUN_MODES, GLOBAL_FLAGS, Flag
from kubectl_kudo.session.command import Command, Group
from kudo.api.task_kinds import KINDS
from kudo.parameters.types import TYPES


class NameKind(enum.Enum):
    """What a word names, so that the names that exist can be offered."""

    CONTEXT = enum.auto()
    FILE = enum.auto()
    FOLDER = enum.auto()
    INSTANCE = enum.auto()
    NAMESPACE = enum.auto()
    OBJECT = enum.auto()
    """An object of the kind that the first argument names."""
    PACKAGE = enum.auto()
    """A folder, an archive, or a name in a repository."""
    OPERATOR_VERSION = enum.auto()
    PACKAGE_FILE = enum.auto()
    """A folder or an archive."""
    PARAMETER = enum.auto()
    PLAN = enum.auto()
    REPOSITORY = enum.auto()
    STEP = enum.auto()
    """A step of the last run of a plan, as `phase.step`."""
    SEARCHED = enum.auto()
    """A name in a repository."""


Expected = NameKind | tuple[str, ...] | None
"""A kind of names, or the words that there are, or None for any text."""

_OUTPUTS = ("json", "yaml")
_SHOWN = ("json", "name", "table", "tree", "wide", "yaml")
_FLAGS: dict[str, Expected] = {
    "context": NameKind.CONTEXT,
    "dry_run": DRY_RUN_MODES,
    "instance": NameKind.INSTANCE,
    "kudo_image_pull_policy": ("Always", "IfNotPresent", "Never"),
    "kudo_namespace": NameKind.NAMESPACE,
    "merge_repo": NameKind.REPOSITORY,
    "namespace": NameKind.NAMESPACE,
    "output": _OUTPUTS,
    "output_directory": NameKind.FOLDER,
    "parameter": NameKind.PARAMETER,
    "plan": NameKind.PLAN,
    "repo": NameKind.REPOSITORY,
    "strategy": ("parallel", "serial"),
    "url_repo": NameKind.REPOSITORY,
}
"""By the attribute of the flag."""
_PLACEHOLDERS: dict[str, Expected] = {"file": NameKind.FILE, "folder": NameKind.FOLDER}
"""By the placeholder of the value, for all other flags."""
_FLAGS_OF: dict[tuple[str, str], Expected] = {
    ("get", "output"): _SHOWN,
    ("install", "instance"): None,
    ("package add parameter", "type"): tuple(sorted(TYPES)),
    ("package add task", "kind"): tuple(sorted(KINDS)),
    ("package render", "instance"): None,
    ("package verify", "output"): ("json", "sarif", "yaml"),
    ("plan history", "output"): ("json", "name", "table", "wide", "yaml"),
    ("plan retry", "from"): NameKind.STEP,
    ("plan retry", "name"): NameKind.PLAN,
    ("plan trigger", "name"): NameKind.PLAN,
    ("test", "list_matching"): ("name", "position"),
    ("test", "report"): ("json", "xml"),
    ("test", "report_granularity"): ("step", "test"),
    ("test", "suppress_log"): ("events",),
    ("upgrade", "to"): NameKind.OPERATOR_VERSION,
}
"""By command and attribute, where that differs. What does not exist yet has no names to offer."""
_ARGUMENTS: dict[str, tuple[Expected, ...]] = {
    "completion": (SHELLS,),
    "describe": (("instance",), NameKind.INSTANCE),
    "get": (("all", "instances", "objects", "operators", "operatorversions"), NameKind.OBJECT),
    "install": (NameKind.PACKAGE,),
    "package create": (NameKind.PACKAGE_FILE,),
    "package docs": (NameKind.PACKAGE_FILE,),
    "package list parameters": (NameKind.PACKAGE,),
    "package list params": (NameKind.PACKAGE,),
    "package list plans": (NameKind.PACKAGE,),
    "package list tasks": (NameKind.PACKAGE,),
    "package params import": (NameKind.FILE, NameKind.FOLDER),
    "package render": (NameKind.PACKAGE_FILE,),
    "package verify": (NameKind.PACKAGE,),
    "repo add": (None, NameKind.FOLDER),
    "repo context": (NameKind.REPOSITORY,),
    "repo index": (NameKind.FOLDER,),
    "repo remove": (NameKind.REPOSITORY,),
    "repo serve": (NameKind.FOLDER,),
    "search": (NameKind.SEARCHED,),
    "test": (NameKind.FOLDER,),
    "upgrade": (NameKind.PACKAGE,),
}
_MANY = {"get", "repo remove", "test"}
"""Commands that take any number of arguments of the last kind."""


def of_flag(command: str, flag: Flag) -> Expected:
    """Return what the value of a flag is.

    Args:
        command: The name of the command; empty for a flag before it.
        flag: The flag.
    """
    attribute = flag.attribute
    if (command, attribute) in _FLAGS_OF:
        return _FLAGS_OF[command, attribute]
    return _FLAGS.get(attribute, _PLACEHOLDERS.get(flag.value))


def of_argument(command: Command, number: int) -> Expected:
    """Return what the positional argument with a number, from 0, is; None if it takes no more."""
    if command.names_instance:
        return NameKind.INSTANCE if number == 0 else None
    kinds = _ARGUMENTS.get(command.name, ())
    if number < len(kinds):
        return kinds[number]
    return kinds[-1] if command.name in _MANY else None


@dataclass(slots=True)
class Line:
    """The words before the one to complete.

    Attributes:
        node: The command, or the group where a command is still to be named.
        flags: The known flags with their values, as they were typed.
        arguments: The positional arguments.
        open: The flag whose value the next word is.
        ended: Whether `--` has ended the flags.
    """

    node: Command | Group
    flags: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    open: Flag | None = None
    ended: bool = False

    def known_flags(self) -> tuple[Flag, ...]:
        """Return the flags that can be given here."""
        own = self.node.flags if isinstance(self.node, Command) else ()
        return (*own, *GLOBAL_FLAGS)

    def flag(self, name: str) -> Flag | None:
        """Return the flag of a name, None if there is none."""
        return next((flag for flag in self.known_flags() if name in flag.names), None)


def read(root: Group, words: Iterable[str]) -> Line | None:
    """Return what the words say; None if they name no command."""
    line = Line(root)
    for word in words:
        if line.open is not None:
            line.flags.append(word)
            line.open = None
        elif line.ended:
            line.arguments.append(word)
        elif word == "--" and isinstance(line.node, Command):
            line.ended = True
        elif word.startswith("-") and word != "-":
            _add_flag(line, word)
        elif isinstance(line.node, Command):
            line.arguments.append(word)
        elif (name := line.node.aliases.get(word, word)) in line.node.members:
            line.node = line.node.member(name)
        else:
            return None
    if line.open is not None:
        line.flags.pop()
    return line


def _add_flag(line: Line, word: str) -> None:
    name, equals, _ = word.partition("=")
    flag = line.flag(name)
    if flag is None:
        # `-pNAME=value`: a short flag with its value. What is unknown is left out: the command
        # itself will say so.
        short = None if word.startswith("--") else line.flag(word[:2])
        if short is not None and short.value:
            line.flags.append(word)
        return
    line.flags.append(word)
    if flag.value and not equals:
        line.open = flag
