"""What the values of flags and the arguments of commands are names of."""

import enum

from kubectl_kudo.completion.scripts import SHELLS
from kubectl_kudo.session.arguments import DRY_RUN_MODES, Flag
from kubectl_kudo.session.command import Command
from kudo.api.task_kinds import KINDS
from kudo.parameters.types import TYPES


class Kind(enum.Enum):
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
    PACKAGE_FILE = enum.auto()
    """A folder or an archive."""
    PARAMETER = enum.auto()
    PLAN = enum.auto()
    REPOSITORY = enum.auto()
    STEP = enum.auto()
    """A step of the last run of a plan, as `phase.step`."""
    SEARCHED = enum.auto()
    """A name in a repository."""


Expected = Kind | tuple[str, ...] | None
"""A kind of names, or the words that there are, or None for any text."""

_OUTPUTS = ("json", "yaml")
_SHOWN = ("json", "name", "table", "tree", "wide", "yaml")
_FLAGS: dict[str, Expected] = {
    "context": Kind.CONTEXT,
    "dry_run": DRY_RUN_MODES,
    "instance": Kind.INSTANCE,
    "kudo_image_pull_policy": ("Always", "IfNotPresent", "Never"),
    "kudo_namespace": Kind.NAMESPACE,
    "merge_repo": Kind.REPOSITORY,
    "namespace": Kind.NAMESPACE,
    "output": _OUTPUTS,
    "output_directory": Kind.FOLDER,
    "parameter": Kind.PARAMETER,
    "plan": Kind.PLAN,
    "repo": Kind.REPOSITORY,
    "strategy": ("parallel", "serial"),
    "url_repo": Kind.REPOSITORY,
}
"""By the attribute of the flag."""
_PLACEHOLDERS: dict[str, Expected] = {"file": Kind.FILE, "folder": Kind.FOLDER}
"""By the placeholder of the value, for all other flags."""
_FLAGS_OF: dict[tuple[str, str], Expected] = {
    ("get", "output"): _SHOWN,
    ("install", "instance"): None,
    ("package add parameter", "type"): tuple(sorted(TYPES)),
    ("package add task", "kind"): tuple(sorted(KINDS)),
    ("package render", "instance"): None,
    ("package verify", "output"): ("json", "sarif", "yaml"),
    ("plan history", "output"): ("json", "name", "table", "wide", "yaml"),
    ("plan retry", "from"): Kind.STEP,
    ("plan retry", "name"): Kind.PLAN,
    ("plan trigger", "name"): Kind.PLAN,
    ("test", "list_matching"): ("name", "position"),
    ("test", "report"): ("json", "xml"),
    ("test", "report_granularity"): ("step", "test"),
    ("test", "suppress_log"): ("events",),
}
"""By command and attribute, where that differs. What does not exist yet has no names to offer."""
_ARGUMENTS: dict[str, tuple[Expected, ...]] = {
    "completion": (SHELLS,),
    "describe": (("instance",), Kind.INSTANCE),
    "get": (("all", "instances", "objects", "operators", "operatorversions"), Kind.OBJECT),
    "install": (Kind.PACKAGE,),
    "package create": (Kind.PACKAGE_FILE,),
    "package docs": (Kind.PACKAGE_FILE,),
    "package list parameters": (Kind.PACKAGE,),
    "package list params": (Kind.PACKAGE,),
    "package list plans": (Kind.PACKAGE,),
    "package list tasks": (Kind.PACKAGE,),
    "package render": (Kind.PACKAGE_FILE,),
    "package verify": (Kind.PACKAGE,),
    "repo add": (None, Kind.FOLDER),
    "repo context": (Kind.REPOSITORY,),
    "repo index": (Kind.FOLDER,),
    "repo remove": (Kind.REPOSITORY,),
    "repo serve": (Kind.FOLDER,),
    "search": (Kind.SEARCHED,),
    "test": (Kind.FOLDER,),
    "upgrade": (Kind.PACKAGE,),
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
        return Kind.INSTANCE if number == 0 else None
    kinds = _ARGUMENTS.get(command.name, ())
    if number < len(kinds):
        return kinds[number]
    return kinds[-1] if command.name in _MANY else None
