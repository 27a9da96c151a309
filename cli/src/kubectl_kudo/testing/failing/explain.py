"""Tells why asserts failed: the smallest difference first, then where to look."""

from collections.abc import Mapping, Sequence

from kubectl_kudo.testing.failing.failed import FailedAssert
from kubeio.client import Client
from kudo_harness.cel import FailedExpression
from kudo_harness.matching import difference_lines
from kudo_harness.report import Failure

JsonObject = dict[str, object]


async def explain(client: Client, namespace: str, failed: FailedAssert) -> Failure:
    """Return why an assert failed.

    Args:
        client: The connection of the step.
        namespace: Of the case.
        failed: The assert.
    """
    del client, namespace
    place = failed.document.place()
    if failed.error:
        return Failure(f"{place}: {failed.error}")
    if failed.forbidden:
        return Failure(f"{place}: an object matches that must not")
    if failed.match is None or failed.match.candidate is None:
        return Failure(f"{place}: no such object")
    lines = difference_lines(failed.match.differences)
    return Failure(lines[0], "\n".join(lines[1:]))


async def explain_expressions(
    client: Client,
    namespace: str,
    failed: Sequence[FailedExpression],
    objects: Mapping[str, JsonObject],
) -> Failure:
    """Return why CEL expressions of an assert failed.

    Args:
        client: The connection of the step.
        namespace: Of the case.
        failed: The expressions, one at least.
        objects: The objects that they refer to, by their `ref`.
    """
    del client, namespace, objects
    return Failure(str(failed[0]), "\n".join(map(str, failed[1:])))


def joined(failures: Sequence[Failure]) -> Failure:
    """Return several failures of one step as one; the first is its message."""
    first, *others = failures
    more = "\n\n".join(f"Also: {one.message}\n{one.details}".rstrip() for one in others)
    return Failure(first.message, "\n\n".join(filter(None, (first.details, more))))
