"""Options of a service: each is declared once, as a flag and as an environment variable.

The flag wins over the variable, the variable over the default; an empty variable counts as
unset, since charts write empty ones. A wrong value ends the process with code 2 and one line that
names the flag or variable and the reason. A `Share` is a pair of options: a limit of the whole
service, and that of one namespace.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

Convert = Callable[[str], object]
"""Turns the text of an option into its value; a ValueError says why it cannot."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        flag: `--long-name`; the value is found under `long_name`.
        env: Environment variable.
        help: One line for `--help`; flag, variable and default are added.
        default: The value where neither is given; not converted.
        type: Converts the text of either.
        required: Whether one of the two must be given.
    """

    flag: str
    env: str
    help: str
    default: object = None
    type: Convert = str
    required: bool = False

    @property
    def name(self) -> str:
        return self.flag.removeprefix("--").replace("-", "_")


def parse(
    options: Sequence[Option],
    *,
    prog: str,
    description: str,
    argv: Sequence[str],
    environ: Mapping[str, str],
) -> argparse.Namespace:
    """Return the value of every option.

    Raises:
        SystemExit: with code 2 for a wrong or missing value, 0 after `--help`.
    """
    parser = _Parser(prog=prog, description=description, allow_abbrev=False)
    for option in options:
        parser.add_argument(
            option.flag,
            type=_for_argparse(option.type),
            default=argparse.SUPPRESS,
            metavar=option.name.rpartition("_")[2].upper(),
            help=_help(option),
        )
    values = parser.parse_args(argv)
    for option in options:
        if not hasattr(values, option.name):
            setattr(values, option.name, _from_environment(option, environ, parser))
    return values


def refuse(prog: str, message: str) -> NoReturn:
    """End the process because options contradict each other.

    Raises:
        SystemExit: with code 2, after one line on standard error.
    """
    _Parser(prog=prog).error(message)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def _help(option: Option) -> str:
    default = "optional" if option.default is None else f"default: {option.default}"
    default = "required" if option.required else default
    return f"{option.help} [{option.env}; {default}]".replace("%", "%%")


def _for_argparse(convert: Convert) -> Convert:
    def converted(text: str) -> object:
        try:
            return convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return converted


def _from_environment(
    option: Option, environ: Mapping[str, str], parser: argparse.ArgumentParser
) -> object:
    text = environ.get(option.env)
    if text:
        try:
            return option.type(text)
        except ValueError as error:
            parser.error(f"environment variable {option.env}: {error}")
    if option.required:
        parser.error(f"{option.flag} is required (or environment variable {option.env})")
    return option.default


def port(text: str) -> int:
    """Convert a TCP port; 0 means any free one.

    Raises:
        ValueError: it is no port.
    """
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise ValueError(f"{text!r} is no port; a port is a number from 0 to 65535")
    return int(text)


def seconds(text: str) -> float:
    """Convert a duration in seconds.

    Raises:
        ValueError: it is no finite number, or negative.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f"{text!r} is no number of seconds")
    return value


def some_seconds(text: str) -> float:
    """Convert a duration in seconds that is above 0.

    Raises:
        ValueError: it is no finite number, or not above 0.
    """
    value = seconds(text)
    if not value:
        raise ValueError("it must be more than 0 seconds")
    return value


def at_least(minimum: int) -> Convert:
    """Return a converter of whole numbers that are not below a minimum."""

    def convert(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < minimum:
            raise ValueError(f"{text!r} is no whole number of at least {minimum}")
        return int(text)

    return convert


def within(minimum: int, maximum: int) -> Convert:
    """Return a converter of whole numbers of a range."""

    def convert(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not minimum <= int(text) <= maximum:
            raise ValueError(f"{text!r} is no whole number from {minimum} to {maximum}")
        return int(text)

    return convert


def boolean(text: str) -> bool:
    """Convert `true` or `false`, in any case.

    Raises:
        ValueError: it is neither.
    """
    if text.lower() not in {"true", "false"}:
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def one_of(*choices: str) -> Convert:
    """Return a converter of one of these words, in any case."""

    def convert(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"{text!r} is none of {', '.join(choices)}")
        return text.lower()

    return convert


log_level = one_of("debug", "info", "warning", "error")
log_style = one_of("json", "text")


@dataclass(frozen=True, slots=True)
class Share:
    """A limit of the whole service, and that of one namespace.

    Raises:
        ValueError: the limit of a namespace is not below the other: one could take everything.
    """

    total: int
    namespace: int

    def __post_init__(self) -> None:
        if not 1 <= self.namespace < self.total:
            raise ValueError(
                f"the share of a namespace ({self.namespace}) must be from 1 to {self.total - 1}, "
                f"below that of all ({self.total})"
            )


def share_options(
    env_prefix: str, name: str, usual: Share, what: str, most: int
) -> tuple[Option, Option]:
    """Return `--NAME` and `--namespace-NAME`; `take_share` reads their values."""
    env = name.replace("-", "_").upper()
    return (
        Option(
            f"--{name}",
            f"{env_prefix}{env}",
            f"{what}, of all namespaces.",
            default=usual.total,
            type=within(2, most),
        ),
        Option(
            f"--namespace-{name}",
            f"{env_prefix}NAMESPACE_{env}",
            f"{what}, of one namespace; less than --{name}.",
            default=usual.namespace,
            type=within(1, most),
        ),
    )


def take_share(values: dict[str, Any], name: str) -> Share:
    """Remove the values of `share_options` from those of all options, and return them.

    Raises:
        ValueError: they contradict each other.
    """
    own = name.replace("-", "_")
    total, namespace = values.pop(own), values.pop(f"namespace_{own}")
    if namespace >= total:
        raise ValueError(f"--namespace-{name} ({namespace}) must be below --{name} ({total})")
    return Share(total, namespace)
