"""Finds the names that exist: in the kubeconfig, the cluster, a package or a repository.

Nothing is checked beforehand, and nothing is waited for longer than two seconds.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, Final, TypeVar

from kubectl_kudo.completion.cluster_names import objects, spec_of_instance, steps_of_run
from kubectl_kudo.completion.kinds import Kind
from kubectl_kudo.completion.line import Line
from kubectl_kudo.repositories.home import home_folder, load_settings
from kubectl_kudo.repositories.urls import shown_place
from kubectl_kudo.session.arguments import Args, Parser
from kubectl_kudo.session.cells import printable
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.output import JsonObject
from kubeio.connection.config import context_names

Name = tuple[str, str]
"""A name, and its description."""
_SECONDS: Final = 2
_DESCRIPTION: Final = 60
_Found = TypeVar("_Found")


def names(kind: Kind, line: Line, current: str, *, without: frozenset[str]) -> list[Name]:
    """Return the names of a kind, sorted; none where they cannot be read in time.

    Args:
        kind: What to name.
        line: The words before.
        current: The word to complete.
        without: Names that were given before.

    Raises:
        UsageError: a flag of the line has an invalid value.
        CliError: they cannot be read; errors of the API server are raised as well.
    """
    args = _args(line)
    if kind is Kind.CONTEXT:
        found = _contexts(args)
    elif kind is Kind.REPOSITORY:
        found = _repositories(args)
    else:
        found = _awaited(kind, args, current)
    return sorted(one for one in found if one[0] not in without)


def _args(line: Line) -> Args:
    parser = line.node.parser() if isinstance(line.node, Command) else Parser(line.node.name)
    args = parser.parse([*line.flags, *line.arguments])
    if isinstance(line.node, Command):
        line.node.take_instance(args)
    args.validate_install = False
    args.request_timeout = args.request_timeout or _SECONDS
    return args


def _contexts(args: Args) -> list[Name]:
    return [(name, "") for name in context_names(args.kubeconfig or None)]


def _repositories(args: Args) -> list[Name]:
    settings = load_settings(home_folder(args))
    return [(printable(one.name), shown_place(one)) for one in settings.all()]


def _awaited(kind: Kind, args: Args, current: str) -> list[Name]:
    if kind in {Kind.PACKAGE, Kind.SEARCHED}:
        # Most names are in the cluster; only those of packages need what reads packages.
        from kubectl_kudo.completion.package_names import packages

        found = _in_time(packages(args))
    elif kind in {Kind.PLAN, Kind.PARAMETER}:
        return list(_declared(kind, _spec(args), current))
    elif kind is Kind.STEP:
        found = _in_time(steps_of_run(args))
    else:
        found = _in_time(objects(kind, args, current))
    return [(name, _short(text)) for name, text in found or ()]


def _spec(args: Args) -> JsonObject:
    """Return the spec of the package that the line names, else of the Instance."""
    if args.arguments:
        from kubectl_kudo.completion.package_names import spec_of_package  # see `_awaited`

        return _in_time(spec_of_package(args)) or {}
    return _in_time(spec_of_instance(args)) or {}


def _in_time(reading: Coroutine[Any, Any, _Found]) -> _Found | None:
    """Return what was read, None if that took too long."""

    async def limited() -> _Found:
        async with asyncio.timeout(_SECONDS):
            return await reading

    try:
        return asyncio.run(limited())
    except (TimeoutError, OSError):
        return None


def _declared(kind: Kind, spec: JsonObject, current: str) -> Iterator[Name]:
    if kind is Kind.PLAN:
        return ((name, "") for name in spec.get("plans") or {})
    return _assignments(spec, current)


def _assignments(spec: JsonObject, current: str) -> Iterator[Name]:
    """Yield `NAME=` for each parameter; after `NAME=`, an assignment for each value it can have."""
    wanted, equals, _ = current.partition("=")
    for parameter in spec.get("parameters") or ():
        name = str(parameter.get("name"))
        if not equals:
            text = parameter.get("description") or parameter.get("displayName") or ""
            yield f"{name}=", _short(str(text))
        elif name == wanted:
            for value in _allowed(parameter):
                yield f"{name}={value}", ""


def _allowed(parameter: JsonObject) -> list[str]:
    if parameter.get("enum"):
        return [str(value) for value in parameter["enum"]]
    return ["true", "false"] if parameter.get("value-type") == "boolean" else []


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _DESCRIPTION else f"{line[: _DESCRIPTION - 1]}…"
