"""Why Instances are as they are, as text for people and as data for programs."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kubectl_kudo.diagnostics.causes import Explained
from kubectl_kudo.diagnostics.finding import Finding
from kubectl_kudo.diagnostics.installation import FOLDER
from kubectl_kudo.diagnostics.reading import Failure
from kubectl_kudo.reading.instance_state import flags_of
from kubectl_kudo.session.blocks import Block, Mark, Prose
from kubectl_kudo.session.cells import printable
from kubectl_kudo.session.output import JsonObject

_MOST: Final = 10
"""Findings beside the cause that are told."""
_MOST_UNREAD: Final = 5
_LIST: Final = re.compile(r"([a-z]+)list(\..*)?$")
"""The file of the objects of a kind, in a bundle."""
_COMMAND: Final = re.compile(r"kubectl [^`]+")


def blocks_of(
    explained: Sequence[Explained],
    unread: Sequence[Failure],
    left_out: Sequence[str],
    *,
    namespace: str,
    total: int,
) -> list[Block]:
    """Return it for people.

    Args:
        explained: The Instances.
        unread: What could not be read.
        left_out: Names of further Instances that are not ready.
        namespace: The namespace.
        total: How many Instances it has, or were asked for.
    """
    paragraphs: list[list[Block]] = [[*_of(one)] for one in explained]
    if not total:
        paragraphs.append([Prose(f"No instances in namespace {namespace}.")])
    elif not explained:
        paragraphs.append([Prose(f"All instances in namespace {namespace} are ready ({total}).")])
    if left_out:
        paragraphs.append([Prose(f"Not ready either: {', '.join(left_out)}")])
    if unread:
        paragraphs.append([Prose(_unread(unread))])
    return [block for paragraph in paragraphs for block in (Prose(), *paragraph)][1:]


def _of(one: Explained) -> Iterator[Prose]:
    if not one.findings:
        yield Prose(one.summary, mark=Mark.GOOD)
        yield Prose("Nothing looks wrong.")
        return
    yield Prose(one.summary, mark=Mark.WARNING)
    cause, *rest = one.findings
    yield Prose(f"Cause: {_sentence(cause)}")
    if advice := _advice(cause):
        yield Prose(f"Next: {advice}")
    yield Prose(f"Run: {_command(cause, one)}", whole=True)
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


def _command(finding: Finding, one: Explained) -> str:
    """Return the next command: that of the advice, else one that shows more of the object."""
    named = _COMMAND.search(finding.advice)
    if named is not None:
        return printable(named[0])
    kind, _, name = finding.subject.partition(" ")
    if kind == "instance":
        return f"kubectl kudo describe {finding.subject} -n {one.namespace}"
    if kind[:1].islower() and name and " " not in name:
        return f"kubectl describe {kind} {name} -n {one.namespace}"
    return f"kubectl kudo diagnostics collect {flags_of(f'{one.namespace}/{one.name}')}"


def _unread(failures: Sequence[Failure]) -> str:
    """Return in one line what could not be read, and the first reason."""
    names = list(dict.fromkeys(map(_what, failures)))
    more = len(names) - _MOST_UNREAD
    shown = ", ".join(names[:_MOST_UNREAD]) + (f" and {more} more" if more > 0 else "")
    return printable(f"Not read: {shown}: {failures[0].text}", 400)


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
                "namespace": one.namespace,
                "name": one.name,
                "summary": one.summary,
                "findings": [
                    {
                        "object": finding.subject,
                        "text": finding.text,
                        "advice": _advice(finding),
                        "command": _command(finding, one),
                    }
                    for finding in one.findings
                ],
            }
            for one in explained
        ],
        "leftOut": list(left_out),
        "unread": [{"what": _what(one), "reason": one.text} for one in unread],
    }
