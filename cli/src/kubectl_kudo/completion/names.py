"""Finds the names that exist: in the kubeconfig, the cluster, a package or a repository.

Nothing is checked beforehand, and nothing is waited for longer than two seconds.
"""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import aclosing
from math import ceil, floor
from typing import Any, Final, TypeVar

from kubectl_kudo.completion.line import Line, NameKind
from kubectl_kudo.reading.runs import entries, last_executed, status_of
from kubectl_kudo.repositories.home import home_folder, load_settings
from kubectl_kudo.repositories.urls import shown_place
from kubectl_kudo.session.arguments import Args, Parser
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.kinds import BY_WORD, INSTANCES, OPERATOR_VERSIONS
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import connect
from kubeio.connection.config import context_names
from kubeio.resource import NAMESPACES
from kudo.api.value_bounds import ValueBounds
from kudo.parameters.bound_texts import bounds_text

Name = tuple[str, str]
"""A name, and its description."""
_SECONDS: Final = 2
_DESCRIPTION: Final = 60
_INTEGERS: Final = 20
"""Values of a parameter that are offered, if they are all that it can have."""
_MOST: Final = 500
"""Names that are returned, and that a page has; nobody chooses among more."""
_Result = TypeVar("_Result")


def names(kind: NameKind, line: Line, current: str, *, without: frozenset[str]) -> list[Name]:
    """Return the names of a kind, sorted; none where they cannot be read in time.

    Steps are in the order of the plan.

    Args:
        kind: What to name.
        line: The words before.
        current: The word to complete.
        without: Names that were given before.

    Raises:
        UsageError: a flag of the line has an invalid value.
        CliError: they cannot be read; errors of the API server are raised as well.
    """
    parser = line.node.parser() if isinstance(line.node, Command) else Parser(line.node.name)
    args = parser.parse([*line.flags, *line.arguments])
    if isinstance(line.node, Command):
        line.node.take_instance(args)
    # The check of the CRDs takes further requests, and the shell shows none of its errors.
    args.validate_install = False
    args.request_timeout = args.request_timeout or _SECONDS
    found = [item for item in _names(kind, args, current) if item[0] not in without]
    return found if kind is NameKind.STEP else sorted(found)


def _names(kind: NameKind, args: Args, current: str) -> list[Name]:
    match kind:
        case NameKind.CONTEXT:
            return [(name, "") for name in context_names(args.kubeconfig or None)]
        case NameKind.REPOSITORY:
            repositories = load_settings(home_folder(args)).all()
            return [(printable(each.name), shown_place(each)) for each in repositories]
        case NameKind.PLAN | NameKind.PARAMETER:
            reading = _spec_of_package(args) if args.arguments else _spec_of_instance(args)
            spec = _in_time(reading) or {}
            if kind is NameKind.PLAN:
                return [(name, "") for name in spec.get("plans") or {}]
            return list(_assignments(_declared(spec, args), current))
        case NameKind.PACKAGE | NameKind.SEARCHED:
            items = _in_time(_packages(args))
        case NameKind.STEP:
            items = _in_time(_steps_of_run(args))
        case _:
            items = _in_time(_objects(kind, args, current))
    return [(name, _short(text)) for name, text in items or ()]


def _in_time(reading: Coroutine[Any, Any, _Result]) -> _Result | None:
    """Return what was read, None if that took too long."""

    async def limited() -> _Result:
        async with asyncio.timeout(_SECONDS):
            return await reading

    try:
        return asyncio.run(limited())
    except (TimeoutError, OSError):
        return None


def _declared(spec: JsonObject, args: Args) -> Sequence[JsonObject]:
    """Return the parameters that a command sets: of the operator, of a run of a plan, or both."""
    of_operator, plans = spec.get("parameters") or (), spec.get("plans") or {}
    if "plan" in args:  # `package render`, of any plan
        return (*of_operator, *((plans.get(args.plan) or {}).get("parameters") or ()))
    if "name" in args:  # `plan trigger`
        return (plans.get(args.name) or {}).get("parameters") or ()
    return of_operator


def _assignments(parameters: Sequence[JsonObject], current: str) -> Iterator[Name]:
    """Yield `NAME=` for each parameter; after `NAME=`, an assignment for each value it can have."""
    typed, equals, _ = current.partition("=")
    for parameter in parameters:
        name = str(parameter.get("name"))
        if not equals:
            text = parameter.get("description") or parameter.get("displayName") or ""
            after = "@secret=" if parameter.get("secret") else "="
            yield f"{name}{after}", _described(str(text), ValueBounds.of(parameter))
        elif name == typed:
            yield from ((f"{name}={value}", "") for value in _values(parameter))


def _described(text: str, bounds: ValueBounds | None) -> str:
    """Return what a parameter is for, and what its value has to be if there is room for both."""
    about = f" ({bounds_text(bounds)})" if bounds else ""
    line = _short(text, _DESCRIPTION - len(about)) + about if len(about) < _DESCRIPTION else ""
    return line.strip() or _short(text)


def _values(parameter: JsonObject) -> Sequence[str]:
    """Return the values that a parameter can have, if they are few and known."""
    bounds = ValueBounds.of(parameter)
    if parameter.get("enum"):
        return [str(value) for value in parameter["enum"]]
    if parameter.get("value-type") == "boolean":
        return ("true", "false")
    if parameter.get("value-type") != "integer" or bounds is None:
        return ()
    if bounds.minimum is None or bounds.maximum is None:
        return ()
    first, last = ceil(bounds.minimum), floor(bounds.maximum)
    # Not the length of a range, which has to fit 64 bits.
    return [*map(str, range(first, last + 1))] if last - first < _INTEGERS else ()


def _short(text: str, most: int = _DESCRIPTION) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


async def _objects(kind: NameKind, args: Args, prefix: str) -> list[Name]:
    """Return the names of objects; those of Instances with their OperatorVersions."""
    match kind:
        case NameKind.NAMESPACE:
            resource = NAMESPACES
        case NameKind.OPERATOR_VERSION:
            resource = OPERATOR_VERSIONS
        case NameKind.OBJECT if args.arguments[0] not in BY_WORD:
            return []
        case NameKind.OBJECT:
            resource = BY_WORD[args.arguments[0]]
        case _:
            resource = INSTANCES
    async with connect(args) as session:
        pages = session.client.pages(
            resource,
            namespace=session.namespace if resource.namespaced else None,
            limit=_MOST,
            # Only of an Instance more is shown, and an OperatorVersion may have 1 MB.
            metadata_only=resource != INSTANCES,
        )
        items: list[Name] = []
        async with aclosing(pages):
            # The API server cannot select by prefix: pages are read until there are enough.
            async for page in pages:
                for obj in page.items:
                    name, spec = obj["metadata"]["name"], obj.get("spec") or {}
                    if name.startswith(prefix):
                        version = (spec.get("operatorVersion") or {}).get("name")
                        items.append((name, str(version or "")))
                if len(items) >= _MOST:
                    break
        return items[:_MOST]


async def _spec_of_instance(args: Args) -> JsonObject:
    """Return the spec of the Instance's OperatorVersion; empty if there is none."""
    async with connect(args) as session:
        instance = await session.instance(args.instance)
        version = await session.version_of(instance) if instance else None
    spec: JsonObject = (version or {}).get("spec") or {}
    return spec


async def _steps_of_run(args: Args) -> list[Name]:
    """Return the steps of the last run of a plan as `phase.step`, with their states.

    The plan is that of `--name`, else the one that ran last.
    """
    async with connect(args) as session:
        instance = await session.instance(args.instance) or {}
    entry = entries(instance).get(args.name or last_executed(instance) or "") or {}
    return [
        (f"{phase.get('name')}.{step.get('name')}", status_of(step))
        for phase in entry.get("phases") or []
        for step in phase.get("steps") or []
    ]


async def _packages(args: Args) -> list[Name]:
    """Return the names and descriptions of the packages of a repository."""
    # Most names are in the cluster; only those of packages need what reads packages.
    from kubectl_kudo.repositories.repository import open_repository
    from kudo.packages.repositories.versions import search

    index = await open_repository(args, getattr(args, "repo", "")).index()
    newest = (group[0] for group in search(index, "", all_versions=False))
    return [(printable(entry.name), entry.description) for entry in newest]


async def _spec_of_package(args: Args) -> JsonObject:
    """Return the spec of the OperatorVersion that the package of the first argument would have."""
    from kubectl_kudo.packages.sources import find, is_local  # see `_packages`
    from kudo.packages.convert import to_objects
    from kudo.packages.location import locate

    argument = args.arguments[0]
    # Commands without --repo take folders and archives alone, also by a bare name.
    local = is_local(argument) or not hasattr(args, "repo")
    located = locate(argument) if local else await find(args)
    spec: JsonObject = to_objects(located.package, "default").operator_version.to_wire()["spec"]
    return spec
