"""Names of pipe pods and artifacts, `.Pipes`, and plans that cannot have them."""

from typing import Any

import pytest

from kudo.api import Instance, OperatorVersion
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.pipe import PipeNames, pipes
from kudo.tasks.rendering import variables


def pipe(name: str, *keys: str, kind: str = "ConfigMap") -> dict[str, Any]:
    files = [{"file": f"/out/{key}", "kind": kind, "key": key} for key in keys]
    return {"name": name, "kind": "Pipe", "spec": {"pod": "pod.yaml", "pipe": files}}


def version(*tasks: dict[str, Any], **plans: list[tuple[str, str, list[str]]]) -> OperatorVersion:
    """Return a version; plans are given as (phase, step, tasks)."""
    return OperatorVersion.from_wire(
        {
            "metadata": {"name": "v", "namespace": "ns"},
            "spec": {
                "tasks": tasks,
                "plans": {
                    name: {
                        "phases": [
                            {"name": phase, "steps": [{"name": step, "tasks": names}]}
                            for phase, step, names in steps
                        ]
                    }
                    for name, steps in plans.items()
                },
            },
        }
    )


def test_names_are_those_of_the_original() -> None:
    names = PipeNames("Foo-Inst.1", "deploy", "main_1", "gen-files", "genWWW")
    assert names.pod == "fooinst1.deploy.main1.genfiles.genwww.pipepod"
    assert names.artifact("indexHtml") == "fooinst1.deploy.main1.genfiles.genwww.indexhtml"
    assert names.artifact("sec_1") == "fooinst1.deploy.main1.genfiles.genwww.sec1"


def test_keys_are_those_of_the_plan_that_runs_wherever_its_steps_stand() -> None:
    found = version(
        pipe("one", "a", "sec_1"),
        pipe("two", "b-c"),
        pipe("other", "z"),
        deploy=[("p1", "s1", ["one"]), ("p2", "s2", ["apply", "two"])],
        update=[("p", "s", ["other"])],
    )
    assert pipes("i", "deploy", found) == {
        "a": "i.deploy.p1.s1.one.a",
        "sec_1": "i.deploy.p1.s1.one.sec1",
        "b-c": "i.deploy.p2.s2.two.bc",
    }
    assert pipes("i", "update", found) == {"z": "i.update.p.s.other.z"}
    assert pipes("i", "missing", found) == {}


def test_templates_of_every_step_see_the_pipes_of_the_whole_plan() -> None:
    found = version(pipe("one", "a"), deploy=[("p1", "s1", ["apply"]), ("p2", "s2", ["one"])])
    wire = {"metadata": {"name": "i", "namespace": "ns"}, "spec": {}}
    seen = variables(Instance.from_wire(wire), found, plan="deploy", phase="p1", step="s1")
    assert seen.fixed["Pipes"] == {"a": "i.deploy.p2.s2.one.a"}


def test_of_two_tasks_of_a_name_the_first_counts() -> None:
    found = version(pipe("one", "a"), pipe("one", "b"), deploy=[("p", "s", ["one"])])
    assert list(pipes("i", "deploy", found)) == ["a"]


def test_a_key_of_configmap_and_secret_may_differ_by_more_than_its_name_shows() -> None:
    mixed = pipe("one", "a-b")
    mixed["spec"]["pipe"] += pipe("one", "ab", kind="Secret")["spec"]["pipe"]
    names = set(pipes("i", "deploy", version(mixed, deploy=[("p", "s", ["one"])])).values())
    assert names == {"i.deploy.p.s.one.ab"}


LONG = "x" * 240


def test_a_plan_whose_pipes_have_no_names_of_their_own_cannot_run(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[OperatorVersion, str]] = [
        (
            version(pipe("one", "k"), pipe("two", "k"), deploy=[("p", "s", ["one", "two"])]),
            "duplicated pipe key k",
        ),
        (
            version(pipe("one", "k"), deploy=[("p", "s", ["one"]), ("p", "t", ["one"])]),
            "duplicated pipe key k",
        ),
        (
            version(pipe("one", "a-b", "ab"), deploy=[("p", "s", ["one"])]),
            (
                "pipe key a-b of deploy.p.s.one and pipe key ab of deploy.p.s.one would both be "
                "ConfigMap i.deploy.p.s.one.ab; rename one of them"
            ),
        ),
        (
            version(pipe("t-1", "a"), pipe("t1", "b"), deploy=[("p", "s", ["t-1", "t1"])]),
            (
                "pipe task deploy.p.s.t-1 and pipe task deploy.p.s.t1 would both be "
                "Pod i.deploy.p.s.t1.pipepod; rename one of them"
            ),
        ),
        (
            version(pipe("one", "_"), deploy=[("p", "s", ["one"])]),
            "pipe key _ of deploy.p.s.one has no letter or digit for the name of its object",
        ),
        (
            version(pipe("one", "a"), deploy=[("\u00e9", "s", ["one"])]),
            (
                "pipe task deploy.\u00e9.s.one: phase '\u00e9' has no letter or digit for the "
                "names of its objects"
            ),
        ),
        (
            version(pipe("one", LONG), deploy=[("p", "s", ["one"])]),
            (
                f"pipe key {LONG} of deploy.p.s.one would be named "
                f"i.deploy.p.s.one.{'x' * 23}..., which has 257 characters; 253 are allowed"
            ),
        ),
    ]
    for found, text in table:
        with subtests.test(found=found, text=text):
            with pytest.raises(FatalTaskError) as caught:
                pipes("i", "deploy", found)
            assert caught.value.reason == "InvalidPlan"
            assert str(caught.value) == f"could not make task pipes: {text}"


def test_a_name_of_253_characters_is_allowed() -> None:
    key = "x" * 236
    found = pipes("i", "deploy", version(pipe("one", key), deploy=[("p", "s", ["one"])]))
    assert len(found[key]) == 253
