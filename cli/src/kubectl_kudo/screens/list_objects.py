"""`kubectl kudo get`: lists Operators, OperatorVersions and Instances.

What is asked for is checked before a cluster is contacted.
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from kubectl_kudo.reading.instance_state import Key, version_key
from kubectl_kudo.screens.tables import Context, Style, table_of, tree_of
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
class GetRequest:
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
    names: tuple[str, ...]
    everywhere: bool
    selector: str
    format: str
    headers: bool


def kinds_of(word: str) -> tuple[Resource, ...] | None:
    """Return the kinds that a word names, or None if it names none."""
    return _WORDS.get(word)


def read_request(args: Args) -> GetRequest:
    """Return what the command line asks for; its first argument names a kind.

    Raises:
        UsageError: arguments and flags contradict each other, or the format is none.
        CliError: no object can have such a name.
    """
    word, *names = args.arguments
    if args.output:
        form = read_format(args.output, [kind.name for kind in _WORDS[word]])
    else:
        # Scripts for KUDO 0.19 read its tree from a pipe. A command line that it did not have can
        # be in no such script.
        is_new = names or args.all_namespaces or args.selector or not args.headers
        form = TABLE if is_new or sys.stdout.isatty() else TREE
    request = GetRequest(
        kinds=_WORDS[word],
        names=tuple(dict.fromkeys(names)),
        everywhere=args.all_namespaces,
        selector=args.selector,
        format=form,
        headers=args.headers,
    )
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
    return request


_TABLES = (TABLE, WIDE)
_AT_ONCE = 10
"""OperatorVersions that are read at the same time; one may have 1 MB."""
_SHOWN = ("operator", "version", "appVersion")
"""Fields of an OperatorVersion that tables show. The templates make up nearly all of it."""


async def get(session: Session, request: GetRequest) -> None:
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
    if len(missing) == 1:
        raise missing[0]
    if missing:
        text = "\n  ".join(str(describe(error)) for error in missing)
        raise CliError(text, code=ExitCode.NOT_FOUND)


async def _found(
    session: Session, request: GetRequest
) -> tuple[list[list[JsonObject]], list[NotFound]]:
    """Return the objects of each kind, and the errors about names that no object has."""

    async def listed(kind: Resource) -> list[JsonObject]:
        no_templates = kind == OPERATOR_VERSIONS and request.format in (*_TABLES, TREE)
        listing = await session.client.list(
            kind,
            namespace=None if request.everywhere else session.namespace,
            label_selector=request.selector or None,
            transform=_without_templates if no_templates else None,
        )
        return listing.items

    async def named(name: str) -> JsonObject | NotFound:
        try:
            return await session.client.get(request.kinds[0], name, namespace=session.namespace)
        except NotFound as error:
            return error

    if not request.names:
        return await asyncio.gather(*map(listed, request.kinds)), []
    results = await asyncio.gather(*map(named, request.names))
    return (
        [[obj for obj in results if not isinstance(obj, NotFound)]],
        [error for error in results if isinstance(error, NotFound)],
    )


def _without_templates(version: JsonObject) -> JsonObject:
    """Return what tables show of an OperatorVersion, so that thousands of them fit in memory."""
    spec = version.get("spec") or {}
    return {**version, "spec": {name: spec[name] for name in _SHOWN if name in spec}}


async def _print_tables(
    session: Session, request: GetRequest, lists: Sequence[Sequence[JsonObject]]
) -> None:
    by_kind = dict(zip(request.kinds, lists, strict=True))
    # With a selector, an Operator that is not listed may exist all the same.
    has_operators = len(by_kind) > 1 and not request.selector
    context = Context(
        datetime.now(UTC),
        await _versions(session, request, by_kind),
        frozenset(map(_key, by_kind[OPERATORS])) if has_operators else None,
    )
    style = Style(
        wide=request.format == WIDE,
        namespaces=request.everywhere,
        references=len(by_kind) > 1,
        headers=request.headers,
    )
    shown = {kind: objects for kind, objects in by_kind.items() if objects}
    tables = [table_of(kind, shown[kind], context, style) for kind in shown]
    show(*[block for table in tables for block in (Prose(), table)][1:])
    if not shown and not request.names:
        where = "." if request.everywhere else f" in {session.namespace} namespace."
        talk(f"No resources found{where}")


async def _versions(
    session: Session, request: GetRequest, lists: dict[Resource, Sequence[JsonObject]]
) -> dict[Key, JsonObject | None]:
    """Return the OperatorVersions that the Instances name; those that may not be read are left out.

    They are listed where all namespaces are, and else read one by one: few of a namespace are used.
    """
    used = {version_key(instance) for instance in lists.get(INSTANCES, ())}
    listed = None if request.selector else lists.get(OPERATOR_VERSIONS)
    if request.everywhere:
        try:
            if listed is None and used:
                client = session.client
                listed = (await client.list(OPERATOR_VERSIONS, transform=_without_templates)).items
        except Forbidden:
            return {}
        by_key = {_key(version): version for version in listed or ()}
        return {key: by_key.get(key) for key in used}
    slots = asyncio.Semaphore(_AT_ONCE)
    versions: dict[Key, JsonObject | None] = {_key(version): version for version in listed or ()}

    async def read(key: Key) -> None:
        namespace, name = key
        async with slots:
            try:
                version = await session.client.get(OPERATOR_VERSIONS, name, namespace=namespace)
                versions[key] = _without_templates(version)
            except Forbidden:
                return
            except (NotFound, ValueError):  # a name that no object can have
                versions[key] = None

    await asyncio.gather(*map(read, used - set(versions)))
    return versions


def _key(obj: JsonObject) -> Key:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]
