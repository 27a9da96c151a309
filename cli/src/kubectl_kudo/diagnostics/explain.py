"""Reads Instances and what belongs to them, and prints why they are not ready.

It is a text for people, or data for programs.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from kubectl_kudo.diagnostics.causes import Explained, explained
from kubectl_kudo.diagnostics.families import FamilyReader, Member, owners_of
from kubectl_kudo.diagnostics.finding import Finding, name_of
from kubectl_kudo.diagnostics.installation import FOLDER, read_services
from kubectl_kudo.diagnostics.reading import Failure, Reader
from kubectl_kudo.reading.instance_state import flags_of
from kubectl_kudo.reading.inventory import Condition, Live, identity_of, read_live, read_record
from kubectl_kudo.reading.log_ends import LogReader
from kubectl_kudo.reading.plan_view import Explanation, capitalised
from kubectl_kudo.reading.summary_line import is_settled
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.blocks import Block, Mark, Prose, printable
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.kinds import INSTANCES, INVENTORIES
from kubectl_kudo.session.names import name_fault
from kubectl_kudo.session.output import JsonObject, one, show
from kubectl_kudo.session.session import Session
from kubeio.resource import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
)

MOST: Final = 20
"""Instances that are explained; the others are counted."""
_KINDS: Final = (
    *(INVENTORIES, PODS, REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, JOBS),
    PERSISTENT_VOLUME_CLAIMS,
)
"""Kinds that are looked for by owners and labels; all others by the record of the Instance."""
_MOST: Final = 10
"""Findings beside the cause that are printed."""
_MOST_UNREAD: Final = 5
_LIST: Final = re.compile(r"([a-z]+)list(\..*)?$")
"""The file of the objects of a kind, in a bundle."""
_COMMAND: Final = re.compile(r"kubectl [^`]+")
Logs = Mapping[str, Explanation]
"""The ends of logs, by the names of Instances."""


async def explain(session: Session, args: Args) -> None:
    """Print why an Instance, or each that is not ready, is as it is.

    Raises:
        CliError: the Instance does not exist, or a name is wrong.
        KubeError: the Instances cannot be read.
    """
    fault = name_fault("namespace", args.kudo_namespace) if args.kudo_namespace else ""
    if fault:
        raise UsageError(fault)
    if args.instance:
        names, total = [args.instance], 1
        await session.existing_instance(args.instance)
    else:
        instances = (await session.client.list(INSTANCES, namespace=session.namespace)).items
        unready = {obj["metadata"]["uid"]: obj for obj in instances if not is_settled(obj)}
        # A child is explained with its parent, which waits for it.
        names = [
            str(obj["metadata"]["name"])
            for obj in unready.values()
            if unready.keys().isdisjoint(owners_of(obj["metadata"]))
        ]
        total = len(instances)
    reader = Reader(session.client)
    families, explanations = await _explained(session, reader, args.kudo_namespace, names[:MOST])
    unread = [failure for failure in reader.failures if not failure.absent]
    left_out = names[MOST:]
    if args.output:
        print(one(as_data(explanations, unread, left_out), args.output), end="")
    else:
        logs = await _logs(session, families, explanations)
        namespace = session.namespace
        show(*blocks_of(explanations, unread, left_out, logs, namespace=namespace, total=total))


async def _explained(
    session: Session, reader: Reader, kudo: str, names: Sequence[str]
) -> tuple[list[list[Member]], list[Explained]]:
    """Return the Instances that could be read with all below them, and why they are as they are."""
    if not names:
        return [], []
    families, installation = await asyncio.gather(
        FamilyReader(reader, session.namespace, _KINDS).families(names),
        read_services(reader, kudo),
    )
    records = await asyncio.gather(
        *(_recorded(reader, [m for m in family if m.instance]) for family in families)
    )
    now = datetime.now(UTC)
    read = [
        (family, explained(family, recorded, installation, now))
        for family, recorded in zip(families, records, strict=True)
        if family[0].instance is not None
    ]
    return [family for family, _ in read], [instance for _, instance in read]


async def _logs(
    session: Session, families: Sequence[Sequence[Member]], instances: Sequence[Explained]
) -> Logs:
    """Return the end of the log of each pod that is a cause, by the name of the Instance."""
    reader = LogReader(session.client)
    logs: dict[str, Explanation] = {}
    for family, instance in zip(families, instances, strict=True):
        cause = instance.findings[0].subject if instance.findings else ""
        pods = (pod for member in family for pod in member.pods)
        pod = next((pod for pod in pods if cause == f"pod {name_of(pod)}"), None)
        end = None if pod is None else await reader.of_pod(pod)
        if end is not None:
            logs[instance.name] = end
    return logs


async def _recorded(reader: Reader, family: Sequence[Member]) -> dict[str, tuple[Live, ...]]:
    """Return the objects on record that are not among those of their Instance, by its name."""
    recorded: dict[str, tuple[Live, ...]] = {}
    for member in family:
        assert member.instance is not None
        inventories = [obj for obj in member.objects if obj["kind"] == INVENTORIES.kind]
        record = read_record(identity_of(member.instance), inventories).record or ()
        already_read = {(obj["kind"], obj["metadata"]["name"]) for obj in member.objects}
        already_read |= {(INSTANCES.kind, instance.name) for instance in family}
        entries = [
            entry
            for entry in record
            if not entry.orphaned_by
            and not entry.leaving
            and (entry.place.kind, entry.place.name) not in already_read
        ]
        recorded[member.name] = await read_live(reader.client, entries)
        for live in recorded[member.name]:
            place = live.entry.place
            if live.condition is Condition.UNKNOWN:
                reader.fail(f"{place.kind.lower()} {place.name}", live.message)
    return recorded


def blocks_of(
    explained: Sequence[Explained],
    unread: Sequence[Failure],
    left_out: Sequence[str],
    logs: Logs,
    *,
    namespace: str,
    total: int,
) -> list[Block]:
    """Return it for people.

    Args:
        explained: The Instances.
        unread: What could not be read.
        left_out: Names of further Instances that are not ready.
        logs: The ends of logs.
        namespace: The namespace.
        total: How many Instances it has, or were asked for.
    """
    paragraphs: list[list[Block]] = [
        [*_of(instance, logs.get(instance.name))] for instance in explained
    ]
    if not total:
        paragraphs.append([Prose(f"No instances in namespace {namespace}.")])
    elif not explained:
        paragraphs.append([Prose(f"All instances in namespace {namespace} are ready ({total}).")])
    if left_out:
        paragraphs.append([Prose(f"Not ready either: {', '.join(left_out)}")])
    if unread:
        names = list(dict.fromkeys(map(_what, unread)))
        more = len(names) - _MOST_UNREAD
        listing = ", ".join(names[:_MOST_UNREAD]) + (f" and {more} more" if more > 0 else "")
        # The reason of the first is most likely that of all: a right, or no connection.
        paragraphs.append([Prose(printable(f"Not read: {listing}: {unread[0].text}", 400))])
    return [block for paragraph in paragraphs for block in (Prose(), *paragraph)][1:]


def _of(instance: Explained, log: Explanation | None) -> Iterator[Prose]:
    if not instance.findings:
        yield Prose(instance.summary, mark=Mark.GOOD)
        yield Prose("Nothing looks wrong.")
        return
    yield Prose(instance.summary, mark=Mark.WARNING)
    cause, *rest = instance.findings
    yield Prose(f"Cause: {_sentence(cause)}")
    if advice := _advice(cause):
        yield Prose(f"Next: {advice}")
    yield Prose(f"Run: {_command(cause, instance)}", whole=True)
    if log is not None:
        yield Prose(capitalised(str(log)))
        yield from (Prose(f"  {line}", most=1) for line in log.lines or ())
    if rest:
        yield Prose("Also:")
        yield from (Prose(f"  {_sentence(finding)}") for finding in rest[:_MOST])
        if len(rest) > _MOST:
            yield Prose(f"  ... and {len(rest) - _MOST} more")


def _sentence(finding: Finding) -> str:
    return printable(f"{finding.subject}: {finding.text}")


def _advice(finding: Finding) -> str:
    """Return what to do, without the command."""
    return printable(_COMMAND.sub("", finding.advice)).rstrip(":` ")


def _command(finding: Finding, instance: Explained) -> str:
    """Return the next command: that of the advice, else one that shows more of the object."""
    named = _COMMAND.search(finding.advice)
    if named is not None:
        return printable(named[0])
    kind, _, name = finding.subject.partition(" ")
    if kind == "instance":
        return f"kubectl kudo describe {finding.subject} -n {instance.namespace}"
    if kind[:1].islower() and name and " " not in name:
        return f"kubectl describe {kind} {name} -n {instance.namespace}"
    return f"kubectl kudo diagnostics collect {flags_of(f'{instance.namespace}/{instance.name}')}"


def _what(failure: Failure) -> str:
    name = failure.path.rpartition("/")[2].removesuffix(".err")
    if listed := _LIST.match(name):
        name = f"{listed[1]}s" if listed[1][-1] != "y" else f"{listed[1][:-1]}ies"
    return f"{name} of KUDO" if failure.path.startswith(FOLDER) else name


def as_data(
    explained: Sequence[Explained], unread: Sequence[Failure], left_out: Sequence[str]
) -> JsonObject:
    """Return it as `-o json` and `-o yaml` print it; arguments as of `blocks_of`."""
    return {
        "instances": [
            {
                "namespace": instance.namespace,
                "name": instance.name,
                "summary": instance.summary,
                "findings": [
                    {
                        "object": finding.subject,
                        "text": finding.text,
                        "advice": _advice(finding),
                        "command": _command(finding, instance),
                    }
                    for finding in instance.findings
                ],
            }
            for instance in explained
        ],
        "leftOut": list(left_out),
        "unread": [{"what": _what(failure), "reason": failure.text} for failure in unread],
    }
