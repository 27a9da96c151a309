"""Grants of OperatorVersions at the beginning of runs, and for Instances that nobody scheduled."""

from typing import Any

import pytest

from kudo.admission.revalidation import (
    NOTHING,
    Revalidation,
    revalidate_idle,
    revalidate_scheduled,
)
from kudo.admission.tenancy import Tenancy
from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.api.fingerprints import fingerprints
from kudo.api.names import ANNOTATION_ALLOW_FROM
from kudo.plans.runs.last_run import has_run_with
from tests.unit.kudo.builders import VALUES, instance, version

STRICT, COMPAT = Tenancy.STRICT, Tenancy.COMPAT
REFERENCE = {"name": "first-1", "namespace": "platform"}


def published(grant: str = "") -> OperatorVersion:
    found = version()
    annotations = {ANNOTATION_ALLOW_FROM: grant} if grant else None
    metadata = {"namespace": "platform", "annotations": annotations}
    return found.model_copy(update={"metadata": found.metadata.model_copy(update=metadata)})


def record(**changed: Any) -> JsonObject:
    return {
        "plan": "deploy",
        "uid": "A",
        "operator": "first",
        "operatorVersion": REFERENCE,
        "version": "platform/first-1",
        "parameters": fingerprints(VALUES),
        **changed,
    }


def user(parameters: dict[str, str] | None = None, **options: Any) -> Instance:
    wire = instance(parameters, **options)
    return Instance.from_wire({**wire, "spec": {**wire["spec"], "operatorVersion": REFERENCE}})


def reasons(found: Revalidation) -> list[str]:
    return [problem.reason for problem in found.problems]


NEW = user()
IN_FORCE = user(ended={"deploy": "A"}, last_run=record())
CHANGED = user({"SIZE": "2"}, ended={"deploy": "A"}, last_run=record())
WRONG = user({"COUNT": "x"}, ended={"deploy": "A"}, last_run=record())
OF_THE_ORIGINAL = user(ended={"deploy": "A"})


def test_without_a_grant_nothing_is_scheduled_and_nothing_else_is_told(
    subtests: pytest.Subtests,
) -> None:
    for found in [NEW, CHANGED, WRONG]:
        with subtests.test(found=found):
            revalidation = revalidate_idle(found, published(), tenancy=STRICT)
            assert reasons(revalidation) == ["OperatorVersionNotGranted"]
            assert revalidation.plan is None


def test_what_is_in_force_stays_so_without_a_grant() -> None:
    for found in [IN_FORCE, OF_THE_ORIGINAL]:
        assert revalidate_idle(found, published(), tenancy=STRICT) == NOTHING


def test_a_grant_and_compat_decide_as_before(subtests: pytest.Subtests) -> None:
    for found in [NEW, IN_FORCE, CHANGED, WRONG, OF_THE_ORIGINAL]:
        with subtests.test(found=found):
            expected = revalidate_idle(found, published())
            assert revalidate_idle(found, published("ns"), tenancy=STRICT) == expected
            assert "OperatorVersionNotGranted" not in reasons(expected)


def test_a_run_is_refused_at_its_beginning(subtests: pytest.Subtests) -> None:
    for plan in ["deploy", "update", "custom"]:
        with subtests.test(plan=plan):
            wire = instance(runs=plan)
            del wire["status"]["planStatus"][plan]
            wire["spec"]["operatorVersion"] = REFERENCE
            found = Instance.from_wire(wire)
            refused = revalidate_scheduled(found, published(), tenancy=STRICT)
            assert reasons(refused) == ["OperatorVersionNotGranted"]
            assert revalidate_scheduled(found, published("*"), tenancy=STRICT) == NOTHING
            assert revalidate_scheduled(found, published(), tenancy=COMPAT) == NOTHING


def test_a_run_in_progress_ends_as_it_began() -> None:
    """Also when another process continues it."""
    found = user(runs="deploy", last_run=record())
    assert revalidate_scheduled(found, published(), tenancy=STRICT) == NOTHING


def test_a_deleted_instance_is_cleaned_up() -> None:
    found = user(runs="cleanup", deleting=True, last_run=record())
    assert revalidate_scheduled(found, published(), tenancy=STRICT) == NOTHING


def test_an_instance_has_run_with_its_version() -> None:
    table: list[tuple[Instance, bool]] = [
        (NEW, False),
        (IN_FORCE, True),
        (OF_THE_ORIGINAL, True),
        (user(last_run=record(operatorVersion={"name": "x", "namespace": "ns"})), True),
        (
            user(last_run=record(operatorVersion={"name": "x", "namespace": "ns"}, version="ns/x")),
            False,
        ),
        (user(last_run=record(operatorVersion=None, version=None)), False),
    ]
    for found, used in table:
        assert has_run_with(found) is used
