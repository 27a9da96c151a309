"""Which OperatorVersions are too large to be read: told by counting, before anything is parsed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import bounds
from kudo.api.bounds import too_large


def plan(phases: int, steps: int, tasks: int) -> dict[str, Any]:
    step = {"tasks": ["t"] * tasks}
    return {"phases": [{"steps": [step] * steps}] * phases}


def nested(depth: int) -> dict[str, Any]:
    value: Any = ""
    for _ in range(depth):
        value = [value]
    return {"env": value}


TOO_LARGE = [
    ({"parameters": [{}] * 450_000}, "spec.parameters has 450000 entries, more than 2000"),
    ({"parameters": [{}] * 2001}, "spec.parameters has 2001 entries, more than 2000"),
    ({"templates": {str(n): "" for n in range(1001)}}, "spec.templates has 1001 entries"),
    ({"tasks": [{}] * 1001}, "spec.tasks has 1001 entries"),
    ({"plans": {str(n): {} for n in range(201)}}, "spec.plans has 201 entries"),
    ({"upgradableFrom": [{}] * 501}, "spec.upgradableFrom has 501 entries"),
    ({"parameters": [{"enum": [""] * 20_001}]}, "spec.parameters.enum has 20001 entries"),
    (
        {"parameters": [{"enum": [""] * 1000}] * 21},
        "spec.parameters.enum has 21000 entries, more than 20000",
    ),
    ({"tasks": [{"spec": {"resources": [""] * 20_001}}]}, "spec.tasks.spec.resources has"),
    ({"tasks": [{"spec": {"pipe": [{}] * 20_001}}]}, "spec.tasks.spec.pipe has"),
    (
        {"tasks": [{"name": "t", "spec": {"job": {"env": [{}] * 300_000}}}]},
        "spec.tasks[t].spec.job has 4003 entries, more than 4000",
    ),
    ({"tasks": [{"spec": {"job": nested(300_000)}}]}, "spec.tasks[].spec.job (levels) has 21"),
    (
        {"tasks": [{"spec": {"job": {"env": [{}] * 3998}}}] * 6},
        "spec.tasks.spec.job has 24000 entries, more than 20000",
    ),
    ({"plans": {"deploy": plan(300_000, 0, 0)}}, "spec.plans.phases has 300000 entries"),
    ({"plans": {"deploy": plan(1, 300_000, 0)}}, "spec.plans.phases.steps has 300001 entries"),
    ({"plans": {"deploy": plan(11, 500, 0)}}, "spec.plans[deploy].phases.steps has 5500 entries"),
    (
        {"plans": {"p": plan(3, 167, 0)}},
        "spec.plans[p].phases.steps has 501 entries, more than 500",
    ),
    ({"plans": {str(n): plan(2, 200, 0) for n in range(3)}}, "spec.plans.phases.steps has 1200"),
    ({"plans": {str(n): plan(200, 0, 0) for n in range(6)}}, "spec.plans.phases has 1200 entries"),
    ({"plans": {"deploy": plan(10, 50, 50)}}, "spec.plans.phases.steps.tasks has"),
    ({"plans": {"deploy": plan(1, 500, 5)}}, "spec.plans.phases.steps.tasks has 2500 entries"),
    ({"plans": {"n" * 300: plan(1, 501, 0)}}, f"spec.plans[{'n' * 100}…].phases.steps has 501"),
]


def test_what_is_too_large_is_named_with_count_and_bound(subtests: pytest.Subtests) -> None:
    for spec, text in TOO_LARGE:
        with subtests.test(spec=spec, text=text):
            said = too_large(spec)
            assert said.startswith(text)
            assert said.endswith("create a version with fewer")


def test_as_many_steps_as_there_may_be_are_read() -> None:
    table: list[Any] = [
        {"deploy": plan(1, bounds.PLAN_STEPS, 4)},
        {str(n): plan(1, bounds.PLAN_STEPS, 2) for n in range(2)},
        {str(n): plan(200, 1, 2) for n in range(5)},
    ]
    for plans in table:
        assert too_large({"plans": plans}) == ""


def test_what_stays_within_every_bound_is_read() -> None:
    whole = {
        "parameters": [{"enum": ["a", "b"]}] * bounds.PARAMETERS,
        "templates": {str(n): "" for n in range(bounds.TEMPLATES)},
        "tasks": [{"spec": {"resources": ["a", "b"]}}] * bounds.TASKS,
        "plans": {str(n): plan(1, 2, 2) for n in range(bounds.PLANS)},
        "upgradableFrom": [{}] * bounds.UPGRADABLE_FROM,
    }
    assert too_large(whole) == ""
    whole["tasks"] = [{"spec": {"job": {"env": [{}] * 3997, **nested(18)}}}] * 4
    assert too_large(whole) == ""


_odd = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("parameters", "enum", "tasks", "spec", "plans", "phases", "steps", "resources")
            ),
            below,
        )
    ),
)


@given(_odd)
def test_a_spec_of_any_shape_is_counted(spec: Any) -> None:
    assert too_large(spec) == ""
