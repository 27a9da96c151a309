"""Hostile inputs end by a count where an event loop works on them, before they cost it anything.

How each ends in a worker process, and what its sender is told, is tested on real processes
(tests/integration/faults/test_hostile_tenants.py).
"""

import pytest

from kudo.api.bounds import too_large
from kudo.api.task_kinds import FatalTaskError
from kudo.parameters.values import Checker, CheckResults
from kudo.tasks.rendering import Engine, render_objects
from tests.support.hostile import End, Input, inputs

INPUTS = {str(sent): sent for sent in inputs()}
TEMPLATES = (
    "regular expressions that grow",
    "searches of 80 KB",
    "loops, recursion, growth",
    "output that is hostile YAML",
    "8 parallel steps",
    "large manifests",
)
VALUES = ("defaults full of aliases", "large values", "Toggle")
FINAL = {"regular expressions that grow: repetitions in repetitions": "invalid repeat count"}
"""What is no template at all: no limit is needed to end it."""


def of(*kinds: str) -> list[str]:
    return [name for name, sent in INPUTS.items() if sent.kind in kinds]


def values(sent: Input) -> list[tuple[str, str]]:
    """Return type and text of each array and map that the Instance has."""
    own = sent.instance(0)["spec"]["parameters"]
    found = [
        (one["value-type"], own.get(one["name"], one.get("default", "")))
        for one in sent.version["spec"]["parameters"]
        if "value-type" in one
    ]
    return [(kind, text) for kind, text in found if text]


def test_a_template_ends_by_a_limit_of_the_event_loop(subtests: pytest.Subtests) -> None:
    for name in of(*TEMPLATES):
        with subtests.test(name=name):
            templates = INPUTS[name].version["spec"]["templates"]
            for template in templates:
                with pytest.raises(FatalTaskError, match=template) as caught:
                    render_objects([template], templates, {}, engine=Engine.inline())
                assert caught.value.limit or FINAL[name] in str(caught.value)


def test_a_value_is_left_to_a_worker_or_refused(subtests: pytest.Subtests) -> None:
    for name in of(*VALUES):
        with subtests.test(name=name):
            check = Checker(CheckResults())
            found = values(INPUTS[name])
            faults = [check(kind, text) for kind, text in found]
            assert found
            assert check.pending or all(fault is not None and fault.limit for fault in faults)
            assert check.reads == 1


def test_a_version_with_more_parts_than_it_may_have_is_not_read(subtests: pytest.Subtests) -> None:
    for name in of("versions with many parts"):
        with subtests.test(name=name):
            sent = INPUTS[name]
            assert bool(too_large(sent.version["spec"])) == (sent.end is not End.DONE)


def test_no_two_inputs_have_the_same_name_and_each_kind_has_three() -> None:
    assert len(INPUTS) == len(inputs())
    assert all(len(of(sent.kind)) >= 3 for sent in INPUTS.values())
