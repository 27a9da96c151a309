"""`kubectl kudo get`: lists Operators, OperatorVersions and Instances.

What is asked for is checked before a cluster is contacted.
"""

import asyncio
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kubectl_kudo.reading.instance_state import Key, version_key
from kubectl_kudo.screens.tables import Known, Style, table_of, tree_of
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.blocks import Prose
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError, describe
from kubectl_kudo.session.kinds import ALL, BY_WORD, INSTANCES, OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.session.names import name_fault
from kubectl_kudo.session.output import (
    TABLE,
    TREE,
    WIDE,
    JsonObject,
    read_format,
    show,
    show_data,
    talk,
)
from kubectl_kudo.session.session import Session
from kubeio.errors import Forbidden, NotFound
from kubeio.resource import Resource

_WORDS = {word: (kind,) for word, kind in BY_WORD.items()} | {"all": ALL}


@dataclass(frozen=True, slots=True)
class Request:
    """What to list, and how to print it.

    Attributes:
        kinds: The kinds.
        names: Names of objects of the one kind; empty for all of them.
        everywhere: Whether to list all namespaces.
        selector: Label selector.
        format: How to print them.
        headers: Whether tables have their first line.
    """

    kinds: tuple[Resource, ...]
    names: tuple[str, ...] = ()
    everywhere: bool = False
    selector: str = ""
    format: str = TABLE
    headers: bool = True


def kinds_of(word: str) -> tuple[Resource, ...] | None:
    """Return the kinds that a word names, or None if it names none."""
    return _WORDS.get(word)


def read_request(args: Args) -> Request:
    """Return what the command line asks for; its first argument names a kind.

    Raises:
        UsageError: arguments and flags contradict each other, or the format is none.
        CliError: no object can have such a name.
    """
    word, *names = args.arguments
    request = Request(
        kinds=_WORDS[word],
        names=tuple(dict.fromkeys(names)),
        everywhere=args.all_namespaces,
        selector=args.selector,
        format=read_format(args.output, _WORDS[word]) if args.output else _default(args, names),
        headers=args.headers,
    )
    _check(request)
    return request


def _default(args: Args, names: list[str]) -> str:
    """Return the format where `-o` is not given.

    Scripts for KUDO 0.19 read its tree from a pipe. A command line that it did not have can be in
    no such script.
    """
    new = names or args.all_namespaces or args.selector or not args.headers
    return TABLE if new or sys.stdout.isatty() else TREE


def _check(request: Request) -> None:
    if request.names and len(request.kinds) > 1:
        raise UsageError('names need a kind: use "instances", "operators" or "operatorversions"')
    if request.names and request.everywhere:
        raise UsageError("a resource cannot be retrieved by name across all namespaces")
    if request.names and request.selector:
        raise UsageError("name cannot be provided when a selector is specified")
    if request.format == TREE and (request.names or request.selector):
        raise UsageError("a tree shows all objects: leave out names and --selector")
    faults = (name_fault(request.kinds[0].kind.lower(), name) for name in request.names)
    fault = next(filter(None, faults), "")
    if fault:
        raise CliError(fault)


_TABLES = (TABLE, WIDE)
_AT_ONCE = 10
"""OperatorVersions that are read at the same time; one may have 1 MB."""
_SHOWN = ("operator", "version", "appVersion")
"""Fields of an OperatorVersion that tables show. The templates make up nearly all of it."""


async def get(session: Session, request: Request) -> None:
    """Print the objects; those that were found also if others of the names were not.

    Raises:
        CliError: objects of these names do not exist.
    """
    lists, missing = await _found(session, request)
    if request.format in _TABLES:
        await _print_tables(session, request, lists)
    elif request.format == TREE:
        namespace = None if request.everywhere else session.namespace
        show(*tree_of(request.kinds, lists, namespace))
    elif any(lists) or not missing:
        objects = [obj for objects in lists for obj in objects]
        show_data(objects, request.format, single=len(request.names) == 1)
    _raise(missing)


def _raise(missing: Sequence[NotFound]) -> None:
    if len(missing) == 1:
        raise missing[0]
    if missing:
        text = "\n  ".join(str(describe(error)) for error in missing)
        raise CliError(text, code=ExitCode.NOT_FOUND)


async def _found(
    session: Session, request: Request
) -> tuple[list[list[JsonObject]], list[NotFound]]:
    """Return the objects of each kind, and the errors about names that no object has."""
    if not request.names:
        listed = asyncio.gather(*(_of_kind(session, request, kind) for kind in request.kinds))
        return await listed, []
    named = await asyncio.gather(*(_named(session, request, name) for name in request.names))
    return (
        [[obj for obj in named if not isinstance(obj, NotFound)]],
        [error for error in named if isinstance(error, NotFound)],
    )


async def _named(session: Session, request: Request, name: str) -> JsonObject | NotFound:
    try:
        return await session.client.get(request.kinds[0], name, namespace=session.namespace)
    except NotFound as error:
        return error


async def _of_kind(session: Session, request: Request, kind: Resource) -> list[JsonObject]:
    listing = await session.client.list(
        kind,
        namespace=None if request.everywhere else session.namespace,
        label_selector=request.selector or None,
        transform=_without_templates if _shows_summaries(request, kind) else None,
    )
    return listing.items


def _shows_summaries(request: Request, kind: Resource) -> bool:
    return kind == OPERATOR_VERSIONS and request.format in (*_TABLES, TREE)


def _without_templates(version: JsonObject) -> JsonObject:
    """Return what tables show of an OperatorVersion, so that thousands of them fit in memory."""
    spec = version.get("spec") or {}
    return {**version, "spec": {name: spec[name] for name in _SHOWN if name in spec}}


async def _print_tables(
    session: Session, request: Request, lists: Sequence[Sequence[JsonObject]]
) -> None:
    by_kind = dict(zip(request.kinds, lists, strict=True))
    known = Known(
        datetime.now(UTC),
        await _versions(session, request, by_kind),
        _keys(by_kind[OPERATORS]) if len(by_kind) > 1 and not request.selector else None,
    )
    style = Style(
        wide=request.format == WIDE,
        namespaces=request.everywhere,
        references=len(by_kind) > 1,
        headers=request.headers,
    )
    shown = {kind: objects for kind, objects in by_kind.items() if objects}
    tables = [table_of(kind, shown[kind], known, style) for kind in shown]
    show(*[block for table in tables for block in (Prose(), table)][1:])
    if not shown and not request.names:
        where = "." if request.everywhere else f" in {session.namespace} namespace."
        talk(f"No resources found{where}")


async def _versions(
    session: Session, request: Request, lists: dict[Resource, Sequence[JsonObject]]
) -> dict[Key, JsonObject | None]:
    """Return the OperatorVersions that the Instances name; those that may not be read are left out.

    They are listed where all namespaces are, and else read one by one: few of a namespace are used.
    """
    wanted = {version_key(instance) for instance in lists.get(INSTANCES, ())}
    listed = None if request.selector else lists.get(OPERATOR_VERSIONS)
    if not request.everywhere:
        found: dict[Key, JsonObject | None] = {_key(version): version for version in listed or ()}
        return found | await _read_versions(session, wanted - set(found))
    if listed is None:
        listed = await _all_versions(session) if wanted else []
    if listed is None:
        return {}
    by_key = {_key(version): version for version in listed}
    return {key: by_key.get(key) for key in wanted}


async def _all_versions(session: Session) -> list[JsonObject] | None:
    try:
        return (await session.client.list(OPERATOR_VERSIONS, transform=_without_templates)).items
    except Forbidden:
        return None


async def _read_versions(session: Session, keys: Iterable[Key]) -> dict[Key, JsonObject | None]:
    slots = asyncio.Semaphore(_AT_ONCE)
    found: dict[Key, JsonObject | None] = {}

    async def read(key: Key) -> None:
        namespace, name = key
        async with slots:
            try:
                version = await session.client.get(OPERATOR_VERSIONS, name, namespace=namespace)
                found[key] = _without_templates(version)
            except Forbidden:
                return
            except (NotFound, ValueError):  # a name that no object can have
                found[key] = None

    await asyncio.gather(*map(read, keys))
    return found


def _keys(objects: Iterable[JsonObject]) -> frozenset[Key]:
    return frozenset(map(_key, objects))


def _key(obj: JsonObject) -> Key:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]
