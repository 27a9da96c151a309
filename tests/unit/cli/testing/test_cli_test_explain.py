"""What a failed assert tells: the smallest difference first, then where to look."""

from typing import Any

import pytest

from kubectl_kudo.commands.test.host import HOST
from kudo_harness.expressions import Expressions
from kudo_harness.failing.explain import explain, explain_expressions, joined
from kudo_harness.failing.failed import FailedAssert
from kudo_harness.findings import Findings, Place
from kudo_harness.matching import best_match
from kudo_harness.report import Failure
from kudo_harness.suite import AssertOptions, ListMatching, ResourceRef, Text
from tests.unit.cli.conftest import running
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.testing.suites import client_of
from tests.unit.harness.matching.reading import document

JsonObject = dict[str, Any]

POT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "pot",
        "namespace": "kitchen",
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "note": "x",
        },
        "managedFields": [{"manager": "someone"}],
    },
    "data": {"cups": "2", "milk": "oat", "tea": "mint"},
}
ASSERT = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: pot
data:
  cups: "3"
  milk: soy
"""


def event(obj: JsonObject, reason: str, message: str, **fields: Any) -> JsonObject:
    metadata = obj["metadata"]
    return {
        "metadata": {"name": f"{metadata['name']}.{reason.lower()}", "namespace": "kitchen"},
        "involvedObject": {
            "kind": obj["kind"],
            "name": metadata["name"],
            "namespace": "kitchen",
            "uid": metadata["uid"],
        },
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": "2030-05-06T07:08:09Z",
        **fields,
    }


async def explained(
    api: FakeApi,
    text: str,
    *candidates: JsonObject,
    forbidden: bool = False,
    error: str = "",
    lists: ListMatching = ListMatching.POSITION,
) -> Failure:
    asserted = document(text)
    match = best_match(asserted, candidates, lists)
    failed = FailedAssert(asserted, match, forbidden=forbidden, error=error)
    async with client_of(api) as client:
        return await explain(HOST, client, "kitchen", failed)


async def test_events_of_the_object_are_shown_oldest_first(api: FakeApi) -> None:
    pot = api.add("configmaps", POT)
    api.add("events", event(pot, "Late", "b\nc", count=3))
    api.add("events", event(pot, "Early", "a", lastTimestamp="2030-05-06T07:08:08Z"))
    api.add("events", event(pot, "AfterEarly", "z", lastTimestamp="2030-05-06T07:08:08Z"))
    other = {**pot, "metadata": {**pot["metadata"], "name": "other", "uid": "other"}}
    api.add("events", event(other, "Other", "of another object"))
    failure = await explained(api, ASSERT, pot)
    assert failure.details.endswith(
        "Events of ConfigMap pot:\n"
        "  2030-05-06T07:08:08Z Warning Early: a\n"
        "  2030-05-06T07:08:08Z Warning AfterEarly: z\n"
        "  2030-05-06T07:08:09Z Warning Late: b c (x3)"
    )


async def test_a_secret_shows_no_value(api: FakeApi) -> None:
    metadata = {"name": "login", "namespace": "kitchen"}
    login = api.add("secrets", {"metadata": metadata, "data": {"password": "aHVudGVyMg=="}})
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\ndata: {password: b3RoZXI=}\n"
    failure = await explained(api, text, login)
    assert failure.message == (
        "00-assert.yaml:4: Secret login: .data.password: value mismatch, expected: (left out, "
        "since it is of a Secret) != actual: (left out, since it is of a Secret)"
    )
    assert "  >   password: (redacted)" in failure.details
    assert "aHVudGVyMg" not in failure.details


async def test_values_of_secrets_are_nowhere(api: FakeApi) -> None:
    metadata = {"name": "login", "namespace": "kitchen"}
    api.add("secrets", {"metadata": metadata, "data": {"password": "aHVudGVyMi1sb25n"}})
    pot = api.add("configmaps", {**POT, "data": {"cups": "hunter2-long"}})
    api.add("events", event(pot, "Told", "the cup is hunter2-long"))
    failure = await explained(api, ASSERT, pot)
    assert failure.message.endswith("expected: 3 != actual: (redacted)")
    assert "cup is (redacted)" in failure.details
    assert "hunter2" not in failure.details


async def test_fields_whose_names_say_secret_show_no_value(api: FakeApi) -> None:
    pot = api.add("configmaps", {**POT, "data": {"dbPassword": "abc"}})
    text = ASSERT.partition("\ndata:")[0] + "\ndata: {dbPassword: def}\n"
    failure = await explained(api, text, pot)
    assert "abc" not in failure.message + failure.details
    assert "def" not in failure.message


async def test_a_missing_object_names_what_there_is_nearest_first(api: FakeApi) -> None:
    for name in ("zebra", "pot-1", "other", *(f"more{n}" for n in range(5))):
        api.add("configmaps", {"metadata": {"name": name}})
    api.add("configmaps", {"metadata": {"name": "pot", "namespace": "default"}})
    api.add("services", {"metadata": {"name": "pot"}, "spec": {}})
    failure = await explained(api, ASSERT)
    assert failure.message == (
        "00-assert.yaml:4: ConfigMap pot does not exist in namespace kitchen"
    )
    assert failure.details == (
        "There is instead:\n"
        "  ConfigMap pot-1\n"
        "  ConfigMap more0\n"
        "  ConfigMap more1\n"
        "  ConfigMap more2\n"
        "  ConfigMap more3\n"
        "  and 3 more\n"
        "There is elsewhere:\n"
        "  ConfigMap pot in namespace default\n"
        "  Service pot (v1)"
    )


async def test_a_missing_object_of_labels_names_the_labels_that_there_are(api: FakeApi) -> None:
    api.add("pods", {"metadata": {"name": "db-0", "labels": {"app": "db"}}})
    api.add("pods", {"metadata": {"name": "lone"}})
    text = "apiVersion: v1\nkind: Pod\nmetadata: {labels: {app: web}}\nstatus: {phase: Running}\n"
    failure = await explained(api, text)
    assert failure.message == (
        "00-assert.yaml:1: there is no Pod with the labels app=web in namespace kitchen"
    )
    assert failure.details == (
        "There is instead:\n  Pod db-0 (labels app=db)\n  Pod lone (no labels)"
    )


async def test_a_missing_object_may_wait_for_a_plan(installed: FakeApi) -> None:
    running(installed)
    failure = await explained(installed, ASSERT)
    assert "There is instead:\n  no ConfigMap at all\n" in failure.details
    plan = failure.details.partition("Plans that are not COMPLETE:\n")[2]
    assert "Plan deploy (serial strategy) [IN_PROGRESS]" in plan


async def test_a_kind_that_is_gone_is_told(api: FakeApi) -> None:
    text = "apiVersion: shop.example.com/v1\nkind: Gadget\nmetadata: {name: a}\n"
    failure = await explained(api, text)
    assert failure == Failure(
        "00-assert.yaml:3: Gadget a does not exist in namespace kitchen: the cluster has no kind "
        "Gadget in shop.example.com/v1"
    )


async def test_an_object_that_must_not_match_tells_what_matched(api: FakeApi) -> None:
    pot = api.add("configmaps", POT)
    text = ASSERT.replace('"3"', '"2"').replace("soy", "oat")
    failure = await explained(api, text, pot, forbidden=True)
    assert failure.message == (
        "00-assert.yaml:6: ConfigMap pot matches, and must not: .data.cups is 2 (and 1 more field)"
    )
    assert failure.details.startswith("ConfigMap pot as it is:\n    apiVersion: v1\n")


async def test_an_object_that_must_not_exist_does(api: FakeApi) -> None:
    pot = api.add("configmaps", POT)
    text = ASSERT.partition("\ndata:")[0]
    failure = await explained(api, text, pot, forbidden=True)
    assert failure.message == "00-assert.yaml:1: ConfigMap pot exists, and must not"


async def test_the_nearest_of_several_is_named(api: FakeApi) -> None:
    pot = api.add("configmaps", POT)
    cup = api.add("configmaps", {**POT, "metadata": {"name": "cup"}, "data": {}})
    text = "apiVersion: v1\nkind: ConfigMap\ndata: {cups: '3', milk: oat}\n"
    failure = await explained(api, text, cup, pot)
    assert failure.message.startswith(
        "00-assert.yaml:3: ConfigMap pot (nearest of 2): .data.cups: value mismatch"
    )


CONDITIONS = [
    {"type": "Ready", "status": "True"},
    {"type": "Reconciling", "status": "False"},
    {"type": "Stalled", "status": "False"},
]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("'True'", "it matches: with `listMatching: name` in the TestAssert of the step, items"),
        (
            "'False'",
            (
                "00-assert.yaml:6: .status.conditions[0].status: value mismatch, expected: "
                "False != actual: True"
            ),
        ),
    ],
)
async def test_a_list_of_another_length_is_compared_by_name_as_well(
    api: FakeApi, status: str, told: str
) -> None:
    metadata = {"name": "tea", "namespace": "kitchen"}
    tea = {"metadata": metadata, "spec": {}, "status": {"conditions": CONDITIONS}}
    text = (
        "apiVersion: kudo.dev/v1beta1\nkind: Instance\nmetadata: {name: tea}\n"
        f"status:\n  conditions:\n  - {{type: Ready, status: {status}}}\n"
    )
    obj = {"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", **tea}
    failure = await explained(api, text, obj)
    assert failure.message.startswith(
        "00-assert.yaml:5: Instance tea: .status.conditions: slice length mismatch: 1 != 3"
    )
    assert failure.details.startswith(f"With lists compared by name:\n  {told}")
    by_name = await explained(api, text, obj, lists=ListMatching.NAME)
    assert "With lists compared by name" not in by_name.details


async def test_why_objects_could_not_be_read_is_the_message(api: FakeApi) -> None:
    failure = await explained(api, ASSERT, error="configmaps is forbidden")
    assert failure == Failure("00-assert.yaml:1: ConfigMap pot: configmaps is forbidden")


async def test_what_may_not_be_read_is_told_in_a_word(api: FakeApi) -> None:
    pot = api.add("configmaps", POT)
    api.refusals["GET", "events"] = (403, "events is forbidden")
    api.refusals["GET", "secrets"] = (403, "secrets is forbidden")
    failure = await explained(api, ASSERT, pot)
    assert failure.message.startswith("00-assert.yaml:6: ConfigMap pot: .data.cups:")
    assert "Events of ConfigMap pot:\n  (cannot be read: events is forbidden)" in failure.details


async def test_an_object_of_any_shape_hides_no_message(api: FakeApi) -> None:
    metadata = {"name": "web", "labels": [], "uid": 3}
    odd = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": 7}
    text = "apiVersion: v1\nkind: Pod\nstatus: {phase: Running}\n"
    failure = await explained(api, text, odd)
    assert failure.message.startswith("00-assert.yaml:3: Pod web: .status: type mismatch")


async def test_expressions_show_the_values_of_their_fields(api: FakeApi) -> None:
    pot = api.add("configmaps", POT)
    place = Place("00-assert.yaml", 9)
    ref = ResourceRef("v1", "ConfigMap", "pot", "", "pot", place)
    texts = (Text("pot.data.cups == '3'", place), Text("pot.data.milk == 'soy'", place))
    options = AssertOptions(0, (), (), (ref,), texts, (), None, place)
    objects = {"pot": pot}
    failed = Expressions.compile(options, Findings()).evaluate(objects)
    async with client_of(api) as client:
        failure = await explain_expressions(HOST, client, "kitchen", failed, objects)
    assert failure.message == (
        "00-assert.yaml:9: pot.data.cups == '3': is false (pot.data.cups is 2)"
    )
    assert failure.details.startswith(
        "Further expressions:\n"
        "  00-assert.yaml:9: pot.data.milk == 'soy': is false (pot.data.milk is oat)\n"
        "ConfigMap pot as it is:\n"
    )


def test_several_failures_of_a_step_are_one() -> None:
    failures = [Failure("a", "of a"), Failure("b", "of b"), Failure("c")]
    assert joined(failures) == Failure("a", "of a\n\nAlso: b\nof b\n\nAlso: c")


def test_the_nearest_to_holding_comes_first() -> None:
    near = document(ASSERT.replace("  milk: soy\n", ""))
    far = document(ASSERT)
    pot: JsonObject = POT
    failed = [
        FailedAssert(far, error="forbidden"),
        FailedAssert(far, best_match(far, [])),
        FailedAssert(far, best_match(far, [pot])),
        FailedAssert(near, best_match(near, [pot])),
    ]
    assert sorted(failed, key=lambda one: one.weight) == failed[::-1]


@pytest.mark.parametrize("lists", list(ListMatching))
async def test_many_lines_are_cut_around_those_that_differ(
    api: FakeApi, lists: ListMatching
) -> None:
    names = [f"c{n}" for n in range(30)]
    items = [{"name": name, "value": "a", "more": "b", "yet": "c"} for name in names]
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"list": items}}
    wanted = [f"  - {{name: {name}, value: {'z' if name == 'c20' else 'a'}}}\n" for name in names]
    order = wanted[::-1] if lists is ListMatching.NAME else wanted
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  list:\n{''.join(order)}"
    failure = await explained(api, text, obj, lists=lists)
    assert ".value: value mismatch, expected: z != actual: a" in failure.message
    lines = failure.details.splitlines()
    (marked,) = [n for n, line in enumerate(lines) if line.startswith("  >")]
    assert lines[marked - 1 : marked + 2] == [
        "        name: c20",
        "  >     value: a",
        "        yet: c",
    ]
    assert len(lines) < 70
    assert any("more lines" in line for line in lines)
