"""Deletes the Operators and OperatorVersions of a namespace that no Instance uses."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kubectl_kudo.reading.instance_state import version_key
from kubectl_kudo.session.arguments import NONE, Args
from kubectl_kudo.session.asking import confirmed, on_terminal
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.kinds import INSTANCES, OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.session.output import JsonObject, say, talk
from kubectl_kudo.session.session import Session, in_session, namespace_of
from kubeio.errors import Conflict, Forbidden, NotFound
from kubeio.resource import Resource
from kudo.api.task_kinds.kinds import KUDO_OPERATOR


async def all_instances(session: Session, *, quiet: bool = False) -> list[JsonObject]:
    """Return the Instances of all namespaces: they may use OperatorVersions of another one.

    Without permission for that, returns those of the namespace, and says so unless it is `quiet`.
    """
    try:
        return (await session.client.list(INSTANCES)).items
    except Forbidden:
        if not quiet:
            talk(
                "You may not list the instances of other namespaces: whether one of them uses an "
                f"operatorversion of namespace {session.namespace} is unknown."
            )
        return (await session.client.list(INSTANCES, namespace=session.namespace)).items


@dataclass(frozen=True, slots=True)
class Unused:
    """What no Instance uses."""

    versions: tuple[JsonObject, ...]
    operators: tuple[JsonObject, ...]

    def objects(self) -> Iterator[tuple[Resource, JsonObject]]:
        """Yield all, the OperatorVersions before their Operators."""
        # Before, so that no OperatorVersion is ever without its Operator.
        yield from ((OPERATOR_VERSIONS, version) for version in self.versions)
        yield from ((OPERATORS, operator) for operator in self.operators)


def uninstall_unused(args: Args) -> None:
    """Ask, and delete what is unused before and after the answer.

    Raises:
        UsageError: confirmation is needed, and stdin is not a terminal.
        CliError: the answer was no, or something changed meanwhile.
    """
    objects: list[tuple[Resource, JsonObject]] = []

    async def look(session: Session) -> None:
        objects.extend((await find_unused(session)).objects())

    in_session(args, look)
    names = [_described(kind, obj) for kind, obj in objects]
    if not names:
        say(f"no operator or operatorversion is unused in namespace {namespace_of(args)}")
        return
    if args.dry_run == NONE and not args.yes:
        if not on_terminal():
            raise UsageError(
                "'--all-unused' asks for confirmation, and stdin is not a terminal: give --yes; "
                "--dry-run=client shows what would be deleted"
            )
        talk("\n  ".join(["No instance uses these:", *names]))
        if not confirmed("Delete them?"):
            raise CliError("nothing was deleted")
    uids = {obj["metadata"]["uid"] for _, obj in objects}
    in_session(args, lambda session: _delete(session, uids))


async def _delete(session: Session, agreed: set[str]) -> None:
    changed = []
    for kind, obj in (await find_unused(session, quiet=True)).objects():
        if obj["metadata"]["uid"] not in agreed:
            continue
        try:
            # With the resourceVersion: a version that was just replaced is about to be used.
            await session.writes.delete(kind, obj, unchanged=True)
        except NotFound:
            continue
        except Conflict:
            changed.append(_described(kind, obj))
        else:
            session.report.done(f"{_described(kind, obj)} deleted")
    if changed:
        raise CliError(f"not deleted, because it changed meanwhile: {', '.join(changed)}")


async def find_unused(session: Session, *, quiet: bool = False) -> Unused:
    """Return what no Instance of any namespace uses in the namespace of the session.

    Args:
        session: The connection.
        quiet: Whether not to say so if the Instances of other namespaces cannot be listed.
    """
    namespace = session.namespace
    # Instances last: one that was created meanwhile is seen, and its version stays.
    versions, operators = await asyncio.gather(
        session.client.list(OPERATOR_VERSIONS, namespace=namespace),
        session.client.list(OPERATORS, namespace=namespace),
    )
    instances = await all_instances(session, quiet=quiet)
    used = {key[1] for key in map(version_key, instances) if key[0] == namespace}
    return unused(operators.items, versions.items, used)


def unused(
    operators: Iterable[JsonObject], versions: Iterable[JsonObject], used: set[str]
) -> Unused:
    """Return what is left over, sorted by name.

    Args:
        operators: The Operators of a namespace.
        versions: Its OperatorVersions.
        used: Names of the OperatorVersions that Instances name. What their KudoOperator tasks need
            is used, too: a plan may create a child of it at any time.
    """
    by_name = {_name(version): version for version in versions}
    kept: set[str] = set()
    waiting = [name for name in used if name in by_name]
    while waiting:
        name = waiting.pop()
        if name not in kept:
            kept.add(name)
            waiting += [other for other in by_name if _needs(by_name[name], by_name[other])]
    of_kept = {_operator(by_name[name]) for name in kept}
    return Unused(
        tuple(by_name[name] for name in sorted(by_name.keys() - kept)),
        tuple(sorted((obj for obj in operators if _name(obj) not in of_kept), key=_name)),
    )


def _needs(version: JsonObject, other: JsonObject) -> bool:
    """Return whether a KudoOperator task of a version may name another one."""
    number, app = other["spec"].get("version") or "", other["spec"].get("appVersion") or ""
    for task in version["spec"].get("tasks") or []:
        spec = task.get("spec") or {}
        if (
            task.get("kind") == KUDO_OPERATOR
            and spec.get("package") == _operator(other)
            # A task without versions could mean any.
            and (spec.get("operatorVersion") or number) == number
            and (spec.get("appVersion") or app) == app
        ):
            return True
    return False


def _operator(version: JsonObject) -> str:
    return str((version["spec"].get("operator") or {}).get("name") or "")


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])


def _described(kind: Resource, obj: JsonObject) -> str:
    return f"{kind.kind.lower()} {obj['metadata']['namespace']}/{_name(obj)}"
