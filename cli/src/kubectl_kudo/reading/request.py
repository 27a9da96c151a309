"""What `kubectl kudo get` is asked for, checked before a cluster is contacted."""

import sys
from dataclasses import dataclass

from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.formats import TABLE, TREE, read_format
from kubectl_kudo.session.kinds import ALL, BY_WORD
from kubectl_kudo.session.naming import name_fault
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
