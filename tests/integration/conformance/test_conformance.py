"""The API server in memory answers as a real one: the same scripts of calls against both."""

import uuid

import pytest

from kubeio.client import Client
from kubeio.resource import NAMESPACES
from kubeio.types import Json
from tests.integration.conformance.differences import DIFFERENCES
from tests.integration.conformance.recording import Recorder
from tests.integration.conformance.scripts import (
    applying,
    creating,
    custom_resources,
    deleting,
    kinds,
    listing,
    patching,
)
from tests.integration.conformance.scripts.objects import Script

pytestmark = pytest.mark.smoke

_SUBJECTS = (creating, patching, custom_resources, applying, deleting, listing, kinds)
SCRIPTS = {name: script for subject in _SUBJECTS for name, script in subject.SCRIPTS.items()}


async def heard(client: Client, script: Script) -> list[Json]:
    """Return what a server answers to a script, in a namespace of its own."""
    name = f"conformance-{uuid.uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    recorder = Recorder(client, name)
    await script(recorder)
    await client.delete(NAMESPACES, name)
    return recorder.heard


@pytest.mark.parametrize("name", SCRIPTS)
async def test_the_server_in_memory_answers_as_a_real_one(
    name: str, real: Client, memory: Client
) -> None:
    expected = await heard(real, SCRIPTS[name])
    found = await heard(memory, SCRIPTS[name])
    assert _compared(name, found) == _compared(name, expected)


def _compared(script: str, answers: list[Json]) -> list[Json]:
    return [_in_order(_without(script, answer)) for answer in answers]


def _in_order(answer: Json) -> Json:
    """Return an answer with its field managers by name.

    A server has them by the second of their last write, and within a second by name: on a slow
    machine the same script gives either order.
    """
    said = answer.get("answer")
    if isinstance(said, dict) and isinstance(said.get("owners"), list):
        said["owners"].sort(key=lambda owner: (owner["operation"], owner["manager"]))
    return answer


def _without(script: str, answer: Json) -> Json:
    for difference in DIFFERENCES:
        if (difference.script, difference.call) == (script, answer["call"]):
            _drop(answer, difference.path.split("."))
    return answer


def _drop(value: Json, path: list[str]) -> None:
    first, *rest = path
    if isinstance(value, list):
        for item in value:
            _drop(item, path)
    elif isinstance(value, dict) and rest:
        _drop(value.get(first), rest)
    elif isinstance(value, dict):
        value.pop(first, None)
