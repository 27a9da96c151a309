"""Tells why asserts failed: the smallest difference first, then where to look.

Nothing here raises for what cannot be read: the details say so, and the message stays.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import KubeError
from kubeio.types import JsonObject
from kudo.redaction.objects import Redactor
from kudo_harness.expressions import FailedExpression
from kudo_harness.failing.details import (
    Section,
    absent_message,
    elsewhere,
    event_lines,
    instance_of,
    others_of_kind,
    pod_lines,
    redactor_of,
    section,
    tree_of,
    unfinished_trees,
)
from kudo_harness.failing.failed import (
    FailedAssert,
    by_name_lines,
    discreet,
    further_lines,
    matched_values,
)
from kudo_harness.failing.shown_objects import bounded, path_in_object, shown_object
from kudo_harness.host import Host
from kudo_harness.report import Failure


async def explain(host: Host, client: Client, namespace: str, failed: FailedAssert) -> Failure:
    """Return why an assert failed.

    Args:
        host: Describes errors and plans.
        client: The connection of the step.
        namespace: Of the case.
        failed: The assert.
    """
    place = failed.document.place()
    if failed.error:
        name = f" {failed.name}" if failed.name else ""
        return Failure(f"{place}: {failed.kind}{name}: {failed.error}")
    document, match = failed.document, failed.match
    candidate = match.candidate if match else None
    if match is None or candidate is None:
        return await _absent(host, client, namespace, failed)
    names = {failed.kind, failed.name, _name(candidate)}
    metadata: Any = candidate.get("metadata") or {}
    where = str(metadata.get("namespace") or namespace)
    # Before any text is made: values of Secrets of the namespace may stand in each of them.
    redactor = await redactor_of(client, where, names)
    # The object may be a Secret, or have a parameter in its spec that is one.
    redactor.learn([bounded(candidate)])
    differences = [discreet(difference) for difference in match.differences]
    if failed.forbidden or not differences:
        return await _forbidden(host, client, failed, candidate, redactor)
    paths = [
        path_in_object(document.value, candidate, difference.path) for difference in differences
    ]
    # Differences come smallest first, so this one is most probably the cause.
    first, *further = differences
    title = _title(failed, candidate)
    difference_text = str(first).removeprefix(f"{first.place}: ")
    return Failure(
        redactor.known.replace(f"{first.place}: {title}: {difference_text}"),
        _text(
            [
                Section("Further differences", further_lines(further)),
                Section("With lists compared by name", by_name_lines(document, match)),
                *await _sections(host, client, candidate, paths, redactor),
            ],
            redactor,
        ),
    )


async def explain_expressions(
    host: Host,
    client: Client,
    namespace: str,
    failed: Sequence[FailedExpression],
    objects: Mapping[str, JsonObject],
) -> Failure:
    """Return why CEL expressions of an assert failed.

    Args:
        host: Describes errors and plans.
        client: The connection of the step.
        namespace: Of the case.
        failed: The expressions, one at least.
        objects: The objects that they refer to, by their `ref`.
    """
    redactor = await redactor_of(client, namespace, map(_name, objects.values()))
    redactor.learn(map(bounded, objects.values()))
    texts = [redactor.known.replace(str(expression)) for expression in failed]
    used = [
        obj for ref, obj in objects.items() if any(ref in each.expression.value for each in failed)
    ]
    sections = [Section("Further expressions", tuple(texts[1:]))]
    # Each takes four requests and up to a hundred lines.
    for obj in used[:2]:
        sections += await _sections(host, client, obj, (), redactor)
    return Failure(texts[0], _text(sections, redactor))


def joined(failures: Sequence[Failure]) -> Failure:
    """Return several failures of one step as one; the first is its message."""
    first, *others = failures
    also = [f"Also: {failure.message}\n{failure.details}".rstrip() for failure in others]
    return Failure(first.message, "\n\n".join(filter(None, (first.details, *also))))


async def _absent(host: Host, client: Client, namespace: str, failed: FailedAssert) -> Failure:
    resource = failed.resource
    if resource is None:
        # The kind may be served since the last round; what is said without it is true as well.
        with contextlib.suppress(KubeError):
            resource = await Discovery(client).for_object(failed.document.value)
    place = failed.document.place("metadata", "name") if failed.name else failed.document.place()
    message = f"{place}: {absent_message(failed, resource, namespace)}"
    if resource is None:
        more = f"the cluster has no kind {failed.kind} in {failed.document.value['apiVersion']}"
        return Failure(f"{message}: {more}")
    where = failed.namespace(namespace)
    redactor = await redactor_of(client, where, (failed.kind, failed.name))
    # At the same time: each is a request or more, and the time of the step is up.
    sections = await asyncio.gather(
        section(host, "There is instead", others_of_kind(client, failed, resource, namespace)),
        section(host, "There is elsewhere", elsewhere(client, failed, resource, namespace)),
        section(host, "Plans that are not COMPLETE", unfinished_trees(host, client, where)),
    )
    return Failure(message, _text(sections, redactor))


async def _forbidden(
    host: Host, client: Client, failed: FailedAssert, candidate: JsonObject, redactor: Redactor
) -> Failure:
    title = _title(failed, candidate)
    values = matched_values(failed.document)
    if values:
        (path, place, value), *_ = values
        more = len(values) - 1
        fields = f" (and {more} more {'field' if more == 1 else 'fields'})" if more else ""
        text = f"{place}: {title} matches, and must not: {path} is {value}{fields}"
    else:
        text = f"{failed.document.place()}: {title} exists, and must not"
    sections = await _sections(host, client, candidate, (), redactor)
    return Failure(redactor.known.replace(text), _text(sections, redactor))


async def _sections(
    host: Host,
    client: Client,
    obj: JsonObject,
    paths: Sequence[tuple[str | int, ...]],
    redactor: Redactor,
) -> list[Section]:
    """Return what helps to understand an object: itself, its events, pods and plan."""
    kind, name = obj.get("kind"), _name(obj)
    marks = " (> differs)" if paths else ""

    async def shown() -> list[str]:
        return shown_object(obj, paths, redactor)

    return [
        await section(host, f"{kind} {name} as it is{marks}", shown()),
        *await asyncio.gather(
            section(host, f"Events of {kind} {name}", event_lines(client, obj, redactor)),
            section(host, f"Pods of {kind} {name}", pod_lines(client, obj)),
            section(host, f"Plan of Instance {instance_of(obj)}", tree_of(host, client, obj)),
        ),
    ]


def _title(failed: FailedAssert, candidate: JsonObject) -> str:
    title = f"{failed.kind} {_name(candidate)}"
    count = failed.match.candidates if failed.match else 0
    return f"{title} (nearest of {count})" if count > 1 and not failed.forbidden else title


def _text(sections: Iterable[Section], redactor: Redactor) -> str:
    return redactor.known.replace("\n".join(str(section) for section in sections if section.lines))


def _name(obj: JsonObject) -> str:
    return str((obj.get("metadata") or {}).get("name") or "")
