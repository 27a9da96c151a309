"""Finds asserts on fields that no object of their kind has, as far as schemas are published.

These are warnings: a schema may be incomplete, and a suite of others runs all the same.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from kubectl_kudo.testing.checks.known_kinds import Kinds
from kubectl_kudo.testing.checks.published_schemas import Unlike, published_paths, schemas_at
from kubeio.client import Client
from kubeio.errors import KubeError
from kubeio.resource import Resource
from kudo_harness.findings import Findings
from kudo_harness.matching import path_text
from kudo_harness.suite import Document, Suite

_SECONDS: Final = 20.0
_MOST_GROUPS: Final = 20
"""Group versions whose schemas are read: each takes a request of up to some megabytes."""
_MOST_OF_ONE: Final = 3
"""Warnings about one document."""
_Asserted = tuple[Resource, Document]


async def check_fields(client: Client, suite: Suite, kinds: Kinds, findings: Findings) -> None:
    """Note fields of asserts and errors that no object of their kind has.

    Checks nothing where schemas cannot be read: they are an addition.

    Args:
        client: The connection.
        suite: The suite.
        kinds: The kinds of the cluster.
        findings: Where fields are noted, as warnings with file and line.
    """
    by_version: dict[str, list[_Asserted]] = defaultdict(list)
    for resource, document in _asserted(suite, kinds):
        by_version[resource.api_version].append((resource, document))
    try:
        async with asyncio.timeout(_SECONDS):
            paths = await published_paths(client) if by_version else {}
            for version in [one for one in by_version if paths.get(one)][:_MOST_GROUPS]:
                schemas = await schemas_at(client, paths[version])
                for resource, document in by_version[version]:
                    unlike = islice(schemas.unlike(resource, document.value), _MOST_OF_ONE)
                    _note(resource, document, unlike, findings)
    except (KubeError, TimeoutError, AttributeError, TypeError):
        # An aggregated API server may answer with any JSON.
        return


def _asserted(suite: Suite, kinds: Kinds) -> Iterator[_Asserted]:
    for folder in suite.test_dirs:
        for case in folder.cases:
            for step in case.steps:
                if step.options is not None and (step.options.kubeconfig or step.options.context):
                    continue
                for document in (*step.objects.asserts, *step.objects.errors):
                    value = document.value
                    resource = kinds.find(value["apiVersion"], value["kind"])
                    if resource is not None:
                        yield resource, document


def _note(kind: Resource, document: Document, unlike: Iterable[Unlike], findings: Findings) -> None:
    for one in unlike:
        about = f"{path_text(one.about)} of {kind.kind}" if one.about else kind.kind
        advice = f"; {one.advice}" if one.advice else ""
        message = f"{about} {one.text}, so this can never match{advice}"
        findings.warning("UnlikeSchema", message, document.place(*one.path))
