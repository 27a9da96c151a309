"""Flags in the form of kubectl, on top of argparse, with the error texts of KUDO 0.19.

A flag is declared as data. Flags may stand before and after the words of the command; switches
take an optional `=true` or `=false`. Positional arguments are collected here and checked by the
command, because each has its own text for a wrong number of them.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.names import closest

NONE, CLIENT, SERVER = DRY_RUN_MODES = ("none", "client", "server")
"""The values of `--dry-run`, as kubectl has them."""

Args = argparse.Namespace
"""The parsed command line: one attribute for each flag, and `arguments`, the positional ones."""

_TRUE = {"1", "t", "T", "TRUE", "true", "True"}
_FALSE = {"0", "f", "F", "FALSE", "false", "False"}
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII)


def number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("not a whole number") from None


def dry_run_mode(text: str) -> str:
    if text not in DRY_RUN_MODES:
        raise ValueError('must be "none", "client" or "server"')
    return text


def seconds(text: str) -> int:
    """Read `90`, `90s` or `1m30s`."""
    if text.isascii() and text.isdigit():
        return int(text)
    match = _DURATION.fullmatch(text) if text else None
    if match is None:
        raise ValueError("neither a number of seconds nor a duration such as 1m30s")
    hours, minutes, rest = (int(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + rest


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag.

    Attributes:
        names: As typed, the long one first; it names the attribute of `Args`.
        help: One phrase.
        value: Placeholder of the value in the help; empty for a switch.
        default: Value of the attribute where the flag is not given.
        repeat: Whether the flag may be given many times; the attribute is then a list.
        convert: Converts the text to the value; raises ValueError with the reason.
    """

    names: tuple[str, ...]
    help: str
    value: str = ""
    default: str | int | bool = ""
    repeat: bool = False
    convert: Callable[[str], object] = str

    @property
    def attribute(self) -> str:
        return self.names[0].lstrip("-").replace("-", "_")

    def __call__(self, text: str) -> object:
        """Convert a value; argparse calls this."""
        try:
            return self.convert(text)
        except ValueError as error:
            names = ", ".join(sorted(self.names, key=len))
            problem = f'invalid argument "{text}" for "{names}" flag: {error}'
            raise UsageError(problem) from None


GLOBAL_FLAGS = (
    Flag(("--namespace", "-n"), "namespace to work in (default: that of the context)", "name"),
    Flag(("--kubeconfig",), "kubeconfig file (default: $KUBECONFIG, then ~/.kube/config)", "file"),
    Flag(("--context",), "context of the kubeconfig (default: the current one)", "name"),
    Flag(("--as",), "user to impersonate", "name"),
    Flag(("--as-group",), "group to impersonate; may be repeated", "name", repeat=True),
    Flag(
        ("--request-timeout",),
        "timeout of each request, such as 10 or 1m (default: 30s; init: 75s)",
        "time",
        0,
        convert=seconds,
    ),
    Flag(
        ("--validate-install",),
        "check first that the cluster serves the CRDs of KUDO (default: true)",
        default=True,
    ),
    Flag(
        ("--home",),
        "folder of repositories and cache (default: $KUDO_HOME, then ~/.kudo)",
        "folder",
    ),
    Flag(
        ("--v", "-v"),
        "log level, 0 to 10, to stderr: 6 requests, 7 headers, 8 bodies, 9 errors with traceback",
        "level",
        0,
        convert=number,
    ),
    Flag(
        ("--color",),
        "colours on a terminal (default: true); off with --no-color",
        default=True,
    ),
    Flag(("--help", "-h"), "show this help", default=False),
)
INSTANCE = Flag(("--instance",), "name of the instance", "name")
PARAMETERS = (
    Flag(
        ("--parameter", "-p"),
        "set a parameter, or name@secret=SECRET/KEY; may be repeated",
        "name=value",
        repeat=True,
    ),
    Flag(
        ("--parameter-file", "-P"),
        "YAML file of parameters; may be repeated; -p takes precedence",
        "file",
        repeat=True,
    ),
)
RUN_PARAMETERS = (
    Flag(
        ("--parameter", "-p"),
        "set a parameter that the plan declares; may be repeated",
        "name=value",
        repeat=True,
    ),
    PARAMETERS[1],
)
"""Flags of parameters of a run."""
WAIT = Flag(("--wait",), "wait for the end, and show the progress", default=False)
WAIT_TIME = Flag(
    ("--wait-time",),
    "how long to wait, such as 300 or 5m; 0 for no limit (default: 300)",
    "time",
    300,
    convert=seconds,
)
DRY_RUN = Flag(
    ("--dry-run",),
    "none, client (check locally, send nothing) or server (the API server checks; default: none)",
    "mode",
    NONE,
    convert=dry_run_mode,
)
WRITTEN = Flag(
    ("--output", "-o"),
    "yaml or json: with --dry-run, print the objects that would be written",
    "format",
)
REPOSITORY = (
    Flag(("--repo",), "repository of packages (default: that of repo context)", "name"),
    Flag(("--operator-version",), "operatorVersion of a package by name (default: newest)", "text"),
    Flag(("--app-version",), "appVersion of a package by name (default: newest)", "text"),
)
"""Flags of commands that take packages from repositories."""
SKIP_VERIFY = Flag(("--skip-verify",), "do not verify the package", default=False)
SERVICE_ACCOUNT = Flag(
    ("--service-account",),
    "service account of the namespace that the plans of the instance act as",
    "name",
)
CHILDREN = Flag(
    ("--children",), "also the instances that its plans created, at all levels", default=False
)
WAITING = (WAIT, WAIT_TIME)
WRITING = (DRY_RUN, WRITTEN)
"""Flags of commands that wait for a plan, and of commands that change objects."""
ALLOW_DOWNGRADE = Flag(
    ("--allow-downgrade",), "allow an older version than the instance has", default=False
)
OUTPUT = Flag(("--output", "-o"), "yaml or json: print the objects in this format", "format")
CHANGE_HELP = (
    "With --wait the progress is shown on stderr: as a tree on a terminal, as lines otherwise. "
    "The\ncommand then fails as soon as the plan does, and names the step and the reason.\n\n"
    "With --dry-run nothing is changed: the command prints what would be changed and which plan\n"
    "would run, or fails with the reason for which the change would be denied."
)
"""Help on `--wait` and `--dry-run`, for the commands that change Instances."""


class Parser(argparse.ArgumentParser):
    """Parses the flags of one command.

    Args:
        prog: The words of the command.
        flags: Its own flags; the global ones are added.
        texts: `usage`, `description` and `epilog` of argparse.
    """

    def __init__(self, prog: str, flags: Iterable[Flag] = (), **texts: str) -> None:
        super().__init__(
            prog=prog,
            add_help=False,
            # KUDO 0.19 knew no abbreviated flags, and a new flag would change what one means.
            allow_abbrev=False,
            # Its errors have the texts and the exit code of argparse, not those of KUDO 0.19.
            exit_on_error=False,
            formatter_class=_HelpFormatter,
            usage=texts.get("usage"),
            description=texts.get("description"),
            epilog=texts.get("epilog"),
        )
        self._switches: set[str] = set()
        self._names: list[str] = []
        self._add(self.add_argument_group("flags"), flags)
        self._add(self.add_argument_group("global flags"), GLOBAL_FLAGS)

    def parse(self, argv: Sequence[str]) -> Args:
        """Return the flags and the positional arguments.

        Raises:
            UsageError: a flag is unknown, lacks its value or has an invalid one.
        """
        typed = [self._plain_switch(token) for token in argv]
        try:
            # What argparse does not know is told in the words of Go's flags below.
            args, rest = self.parse_known_args(typed)
        except argparse.ArgumentError as error:
            # The texts of KUDO 0.19, whose flags were those of Go.
            names = (error.argument_name or "").split("/")
            name = next((token for token in reversed(typed) if token in names), names[-1])
            if "expected one argument" not in error.message:
                raise UsageError(f"{name}: {error.message}") from None
            shown = name if name.startswith("--") else f"'{name[1:]}' in {name}"
            raise UsageError(f"flag needs an argument: {shown}") from None
        args.arguments = list(_positional(rest, self._names))
        return args

    def _add(self, group: Any, flags: Iterable[Flag]) -> None:
        for flag in flags:
            options: dict[str, Any] = {"dest": flag.attribute, "help": flag.help}
            self._names += [name for name in flag.names if name.startswith("--")]
            if not flag.value:
                self._switches.add(flag.names[0])
                options |= {"action": _Switch, "default": flag.default}
            elif flag.repeat:
                options |= {"action": "append", "default": [], "metavar": flag.value}
            else:
                options |= {"default": flag.default, "metavar": flag.value, "type": flag}
            group.add_argument(*sorted(flag.names, key=len), **options)

    def _plain_switch(self, token: str) -> str:
        """Turn `--switch=true` into `--switch`, and `--switch=false` into `--no-switch`."""
        name, equals, value = token.partition("=")
        if not equals or name not in self._switches:
            return token
        if value not in _TRUE | _FALSE:
            problem = f'invalid argument "{value}" for "{name}" flag: neither true nor false'
            raise UsageError(problem)
        return name if value in _TRUE else f"--no-{name[2:]}"


class _Switch(argparse.Action):
    """A flag without a value; `--no-<name>` turns it off."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        off = [f"--no-{name[2:]}" for name in option_strings if name.startswith("--")]
        super().__init__([*option_strings, *off], dest, nargs=0, **options)

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002
        namespace: argparse.Namespace,
        values: object,  # noqa: ARG002
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, not (option_string or "").startswith("--no-"))


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Writes flags as `-n, --namespace name`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=34, width=100)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        names = [name for name in action.option_strings if not name.startswith("--no-")]
        return " ".join(filter(None, (", ".join(names), str(action.metavar or ""))))


def _positional(rest: Iterable[str], flags: Iterable[str]) -> Iterator[str]:
    """Yield what argparse left over, if all of it is positional."""
    flags_ended = False
    for word in rest:
        if flags_ended or not word.startswith("-") or word == "-":
            yield word
        elif word == "--":
            flags_ended = True
        elif word.startswith("--"):
            name = word.partition("=")[0]
            # Less alike, `--all-namespaces` would be taken for `--namespace`, another thing.
            close = closest(name[2:], (flag[2:] for flag in flags), similarity=0.8)
            hint = f"; did you mean --{close[0]}?" if close else ""
            raise UsageError(f"unknown flag: {name}{hint}")
        else:
            raise UsageError(f"unknown shorthand flag: '{word[1]}' in {word}")
