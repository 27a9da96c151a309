"""The OperatorVersions that a tree of Instances needs: there, and without a cycle."""

from collections.abc import Mapping, Sequence

import pytest

from kudo.api import OperatorVersion
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.kudo_operator import check_dependencies, dependencies_of

Found = Mapping[tuple[str, str], OperatorVersion | None]


def version(
    name: str, *needs: str, plan: Sequence[str] = (), namespace: str = "ns"
) -> OperatorVersion:
    """Return a version that needs others; all tasks are in the plan unless it is given."""
    tasks = [
        {
            "name": f"have-{need}",
            "kind": "KudoOperator",
            "spec": {
                "package": need.rpartition("-")[0],
                "operatorVersion": need.rpartition("-")[2],
            },
        }
        for need in needs
    ]
    named = plan or [f"have-{need}" for need in needs]
    step = {"name": "s", "tasks": [*named]}
    return OperatorVersion.from_wire(
        {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "tasks": [*tasks, {"name": "noop", "kind": "Dummy", "spec": {}}],
                "plans": {"deploy": {"phases": [{"name": "p", "steps": [step]}]}},
            },
        }
    )


def found(*versions: OperatorVersion) -> Found:
    return {(one.metadata.namespace, one.metadata.name): one for one in versions}


def problem(root: OperatorVersion, *others: OperatorVersion) -> tuple[str, str]:
    """Return reason and text of what is wrong with a tree."""
    with pytest.raises(FatalTaskError) as caught:
        check_dependencies(root, "deploy", found(root, *others))
    return caught.value.reason, str(caught.value)


def test_a_version_needs_what_its_tasks_name() -> None:
    root = version("a-1", "b-1", "c-2", plan=["have-c-2", "noop"], namespace="library")
    assert [one.version for one in dependencies_of(root)] == [
        ("library", "b-1"),
        ("library", "c-2"),
    ]
    assert [one.version for one in dependencies_of(root, "deploy")] == [("library", "c-2")]
    assert dependencies_of(root, "no-such-plan") == ()


def test_a_task_that_cannot_be_built_needs_nothing(subtests: pytest.Subtests) -> None:
    for spec in [{"package": "b"}, {"operatorVersion": "1"}, {}]:
        with subtests.test(spec=spec):
            wire = {"name": "have", "kind": "KudoOperator", "spec": spec}
            root = OperatorVersion.from_wire(
                {"metadata": {"name": "a-1"}, "spec": {"tasks": [wire]}}
            )
            assert dependencies_of(root) == ()


def test_a_tree_that_is_there_passes_however_often_a_version_is_needed() -> None:
    root = version("a-1", "b-1", "c-1")
    check_dependencies(
        root, "deploy", found(root, version("b-1", "d-1"), version("c-1", "d-1"), version("d-1"))
    )


def test_another_version_of_the_same_operator_is_no_cycle() -> None:
    root = version("a-2", "b-1")
    check_dependencies(root, "deploy", found(version("b-1", "a-1"), version("a-1")))


def test_a_version_that_leads_back_to_itself_is_refused() -> None:
    table: list[tuple[list[OperatorVersion], str]] = [
        ([version("a-1", "a-1")], "a-1 -> a-1"),
        ([version("a-1", "b-1"), version("b-1", "a-1")], "a-1 -> b-1 -> a-1"),
        (
            [version("a-1", "b-1"), version("b-1", "c-1"), version("c-1", "b-1")],
            "b-1 -> c-1 -> b-1",
        ),
    ]
    for tree, cycle in table:
        assert problem(*tree) == (
            "CircularDependency",
            f"cyclic package dependency found: {cycle}; remove one of these KudoOperator tasks",
        )


def test_a_missing_version_is_named_with_who_needs_it_and_what_to_do() -> None:
    root = version("a-1", "b-1", namespace="library")
    below = version("b-1", "my-db-0.3.0", namespace="library")
    reason, text = problem(root, below)
    assert reason == "OperatorVersionNotFound"
    assert text == (
        "failed to resolve package my-db of task have-my-db-0.3.0 of b-1: OperatorVersion "
        "library/my-db-0.3.0 does not exist; install it (kubectl kudo install PACKAGE "
        "--skip-instance -n library) and run the plan again"
    )


def test_what_another_plan_needs_may_be_missing() -> None:
    root = version("a-1", "b-1", plan=["noop"])
    check_dependencies(root, "deploy", found(root))


def test_a_version_is_looked_at_once_however_many_ways_lead_to_it() -> None:
    """There are two to the sixtieth of them."""
    ladder = [
        version(f"{side}-{level}", f"a-{level + 1}", f"b-{level + 1}")
        for level in range(60)
        for side in "ab"
    ]
    check_dependencies(ladder[0], "deploy", found(*ladder, version("a-60"), version("b-60")))
