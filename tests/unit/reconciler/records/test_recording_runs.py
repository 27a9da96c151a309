"""What a run applies is on record before it is sent, and by how many writes."""

import asyncio

import pytest

from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INVENTORIES
from tests.support import build
from tests.support.apiserver import status
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.server import Request
from tests.unit.reconciler.records.recorded import (
    DROPPED,
    inventory,
    on_record,
    operator,
    orphans,
    run,
    update,
    writes,
)
from tests.unit.reconciler.scenes.scene import (
    CONFIG_MAPS,
    ROLES,
    SECRETS,
    Refusing,
    Scene,
    Shaped,
    of_kind,
    play,
    role,
    version,
)

CONFIG_MAP = of_kind("ConfigMap", "{{ .Name }}", "{{ .Params.TEXT }}")
TEMPLATES = {
    "one.yaml": of_kind("ConfigMap", "one", "{{ .Params.TEXT }}"),
    "two.yaml": of_kind("ConfigMap", "two", "b"),
    "broken.yaml": "{{ .Params.MISSING.Field }}",
}
ONE, TWO = build.task("one", "Apply", "one.yaml"), build.task("two", "Apply", "two.yaml")
TOGGLE = build.task("two", "Toggle", "two.yaml", parameter="ON")
DELETE = build.task("delete", "Delete", "two.yaml")
FAILS = build.task("fails", "Dummy", wantErr=True, fatal=True)
BROKEN = build.task("broken", "Apply", "broken.yaml")


def paths(scene: Scene) -> list[str]:
    """Return kind and method of each write of objects and records, in order."""
    return [
        f"{one.method} {one.path.split('/namespaces/ns/')[1].split('/')[0]}"
        for one in scene.network.seen
        if one.method != "GET" and ("/inventories" in one.path or "/configmaps" in one.path)
    ]


@pytest.mark.parametrize("second", [TWO, TOGGLE], ids=["apply", "toggle"])
def test_one_write_records_a_whole_plan_before_anything_is_sent(second: JsonObject) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(TEMPLATES, [ONE, second], deploy=[["one"], ["two"]]))
        assert paths(scene) == ["POST inventories", "PATCH configmaps", "PATCH configmaps"]
        found = on_record(scene)
        assert {name: obj["task"] for name, obj in found.items()} == {"one": "one", "two": "two"}
        assert {key: found["one"][key] for key in ("version", "kind", "resource", "plan")} == {
            "version": "v1",
            "kind": "ConfigMap",
            "resource": "configmaps",
            "plan": "deploy",
        }
        stored = inventory(scene)
        assert stored is not None
        assert stored["complete"] is True

    play(body)


def test_a_toggle_that_is_off_records_nothing() -> None:
    async def body(scene: Scene) -> None:
        of = operator(TEMPLATES, [ONE, TOGGLE], deploy=[["one"], ["two"]])
        await scene.install("i", of=of, ON="false")
        assert list(on_record(scene)) == ["one"]
        assert writes(scene) == ["POST"]

    play(body)


def test_what_cannot_be_rendered_is_left_to_its_own_turn() -> None:
    async def body(scene: Scene) -> None:
        of = operator(TEMPLATES, [ONE, BROKEN, TWO], deploy=[["one"], ["broken"], ["two"]])
        await scene.install("i", of=of)
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        # The last one was never sent; what is recorded too early is harmless.
        assert set(on_record(scene)) == {"one", "two"}
        assert scene.stored(CONFIG_MAPS, "two") is None

    play(body)


def test_an_object_that_two_tasks_apply_is_recorded_once_for_the_last() -> None:
    async def body(scene: Scene) -> None:
        again = build.task("again", "Apply", "one.yaml")
        of = operator(TEMPLATES, [ONE, again], deploy=[["one"], ["again"]])
        await scene.install("i", of=of)
        assert on_record(scene)["one"]["task"] == "again"
        await run(scene, "deploy")
        assert writes(scene) == ["POST"]
        assert orphans(scene) is None

    play(body)


def test_a_task_whose_object_is_on_record_for_a_later_one_writes_nothing() -> None:
    async def body(scene: Scene) -> None:
        again = build.task("again", "Apply", "one.yaml")
        of = operator(TEMPLATES, [ONE, TWO, again], deploy=[["two"], ["one"], ["again"]])
        await scene.install("i", of=of)
        # When the second task has its turn, the uid of what the first one sent is known.
        assert writes(scene) == ["POST"]

    play(body)


def test_uids_are_stored_with_the_next_write() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=operator(TEMPLATES, [ONE, TWO], deploy=[["one"], ["two"]]))
        assert "uid" not in on_record(scene)["two"]
        await update(scene, TEXT="two")
        stored = scene.stored(CONFIG_MAPS, "two")
        assert stored is not None
        assert writes(scene) == ["POST", "PUT"]
        # The first run has learned it, and its memory is gone.
        assert "uid" not in on_record(scene)["two"]

    play(body)


def test_records_are_written_as_the_reconciler() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(CONFIG_MAP, deploy=["apply"]))
        users = {one.user for one in scene.network.seen if "/inventories" in one.path}
        assert len(users) == 1
        assert not any("serviceaccount:ns:" in user for user in users)

    play(body)


class Lacking(Shaped):
    """Refuses writes to Inventories while something holds.

    Attributes:
        why: What the API server says.
    """

    refuses = True
    why = ""

    def fate(self, request: Request) -> Fate:
        found = super().fate(request)
        if self.refuses and "/inventories" in request.path and request.method != "GET":
            about = status.Names(INVENTORIES.group, INVENTORIES.plural, "")
            return Fate(refused=status.forbidden(about, self.why))
        return found


RIGHT = 'User "kudo" cannot create resource "inventories" in API group "kudo.dev"'
QUOTA = "exceeded quota: few, requested: count/inventories.kudo.dev=1, used: 0, limited: 0"
POLICY = "ValidatingAdmissionPolicy 'kudo-inventories' with binding 'kudo-inventories' denied"


@pytest.mark.parametrize(
    ("why", "advice"),
    [
        (RIGHT, "needs get, list, watch, create and update on inventories.kudo.dev: upgrade"),
        (QUOTA, QUOTA),
        (POLICY, "see Inventories in docs/installing.md"),
    ],
    ids=["right", "quota", "policy"],
)
def test_nothing_is_sent_while_nothing_can_be_recorded_and_the_error_says_what_to_do(
    why: str, advice: str
) -> None:
    async def body(scene: Scene) -> None:
        network = Lacking(scene.life.rng, 0.0)
        network.why = why
        for transport in scene.life.replicas[0].process.transports:
            transport.network = network
        await scene.life.put_version(version(CONFIG_MAP, deploy=["apply"]))
        await scene.life.user.create("i", {})
        await scene.until(lambda: "recorded" in _message(scene))
        text = _message(scene)
        assert "so nothing is sent" in text
        assert advice in text
        assert ("ServiceAccount of the reconciler needs" in text) == (why == RIGHT)
        assert network.sent("PATCH", "configmaps") == []
        network.refuses = False
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"

    play(body)


def test_a_run_that_cannot_record_its_end_says_so_once_and_ends_with_the_right() -> None:
    async def body(scene: Scene) -> None:
        network = Lacking(scene.life.rng, 0.0)
        for transport in scene.life.replicas[0].process.transports:
            transport.network = network
        network.refuses, network.why = False, RIGHT
        await scene.install("i", of=version(DROPPED, deploy=["apply"]))
        await asyncio.sleep(10)
        network.refuses = True
        await scene.life.user.change("i", {"parameters": {"TEXT": "two"}})
        await asyncio.sleep(120)
        (told,) = scene.told("InventoryNotWritten")
        assert "so it does not end" in told
        assert "needs get, list, watch, create and update on inventories.kudo.dev" in told
        assert scene.is_busy("i")
        network.refuses = False
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert len(orphans(scene)) == 1

    play(body)


def _message(scene: Scene) -> str:
    stored = scene.life.observed.instance("i") or {}
    entry = stored.get("status", {}).get("planStatus", {}).get("deploy", {})
    steps = [step for phase in entry.get("phases", ()) for step in phase.get("steps", ())]
    return " ".join(step.get("message", "") for step in steps)


def test_an_instance_whose_record_is_missing_begins_one_that_is_not_complete() -> None:
    async def body(scene: Scene) -> None:
        of = operator(TEMPLATES, [ONE, FAILS], deploy=[["fails"]], update=[["one"]])
        await scene.install("i", of=of)
        assert inventory(scene) is None
        await run(scene, "update")
        stored = inventory(scene)
        assert stored is not None
        assert "complete" not in stored
        assert list(on_record(scene)) == ["one"]

    play(body)


def test_a_child_is_on_record_without_a_digest_of_its_parameters() -> None:
    async def body(scene: Scene) -> None:
        done = build.task("it", "Dummy", done=True)
        child = build.stored_version(tasks=[done], plans={"deploy": build.serial(["it"])})
        child["metadata"]["name"] = "child-1"
        await scene.life.put_version(child)
        have = build.task("have", "KudoOperator", package="child", operatorVersion="1")
        await scene.install("i", of=operator(TEMPLATES, [ONE, have], deploy=[["have"], ["one"]]))
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert writes(scene) == ["POST"]
        found = on_record(scene)
        assert set(found) == {"i-child", "one"}
        assert found["i-child"] == {
            "group": "kudo.dev",
            "version": "v1beta1",
            "kind": "Instance",
            "resource": "instances",
            "namespace": "ns",
            "name": "i-child",
            "plan": "deploy",
            "task": "have",
        }
        await run(scene, "deploy")
        assert orphans(scene) is None
        assert writes(scene) == ["POST"]

    play(body)


def test_a_template_may_not_write_records() -> None:
    async def body(scene: Scene) -> None:
        forged = (
            '{"apiVersion": "kudo.dev/v1beta1", "kind": "Inventory", "metadata": {"name": "x"}}'
        )
        await scene.install("i", of=version(forged, deploy=["apply"]))
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        assert "only KUDO writes Inventories" in scene.message("i", "deploy")
        assert writes(scene) == []

    play(body)


RANDOM = of_kind("ConfigMap", "{{ .Name }}-{{ randAlpha 8 | lower }}")
"""Rendered with another name at its turn, so that there is another write."""


def test_a_secret_that_existed_is_recorded_as_adopted_with_the_next_write() -> None:
    async def body(scene: Scene) -> None:
        made: JsonObject = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "two", "namespace": "ns"},
        }
        await scene.admin.create(SECRETS, made)
        templates = {"two.yaml": of_kind("Secret", "two"), "one.yaml": RANDOM}
        of = operator(templates, [TWO, ONE], deploy=[["two"], ["one"]])
        await scene.install("i", of=of)
        assert writes(scene)[:2] == ["POST", "PUT"]
        stored = scene.stored(SECRETS, "two")
        assert stored is not None
        found = on_record(scene)["two"]
        assert (found["adopted"], found["uid"]) == (True, stored["metadata"]["uid"])
        assert "digest" not in found

    play(body)


def test_an_adoption_is_on_record_at_the_end_of_its_run_and_costs_one_write_once() -> None:
    async def body(scene: Scene) -> None:
        made: JsonObject = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "two", "namespace": "ns"},
        }
        await scene.admin.create(SECRETS, made)
        of = operator({"two.yaml": of_kind("Secret", "two")}, [TWO], deploy=[["two"]])
        await scene.install("i", of=of)
        assert writes(scene) == ["POST", "PUT"]
        assert on_record(scene)["two"]["adopted"] is True
        await run(scene, "deploy")
        assert writes(scene) == ["POST", "PUT"]

    play(body)


def test_a_retained_object_is_on_record_as_such_and_not_as_adopted() -> None:
    async def body(scene: Scene) -> None:
        retained = (
            "apiVersion: v1\nkind: ConfigMap\n"
            "metadata: {name: two, annotations: {kudo.dev/deletion-policy: retain}}"
        )
        templates = {"two.yaml": retained, "one.yaml": RANDOM}
        of = operator(templates, [TWO, ONE], deploy=[["two"], ["one"]])
        await scene.install("i", of=of)
        found = on_record(scene)["two"]
        assert found["retained"] is True
        assert "uid" in found
        assert "adopted" not in found

    play(body)


# What leaves the record, and orphans


def test_an_object_that_a_template_drops_becomes_an_orphan_and_is_none_when_it_is_back() -> None:
    async def body(scene: Scene) -> None:
        of = version(DROPPED, deploy=["apply"])
        await scene.install("i", of=of)
        assert orphans(scene) is None
        scene.network.seen.clear()
        await update(scene, TEXT="two")
        (orphan,) = orphans(scene)
        assert orphan == {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "namespace": "ns",
            "name": "i-dropped",
            "plan": "deploy",
            "task": "apply",
        }
        uid = scene.entry("i", "deploy")["uid"]
        assert on_record(scene)["i-dropped"]["orphanedBy"] == uid
        assert writes(scene) == ["PUT"]
        await asyncio.sleep(10)
        (told,) = scene.told("ObjectsOrphaned")
        assert "1 object is no longer applied: ConfigMap ns/i-dropped;" in told
        assert "`kubectl kudo prune --instance i -n ns --dry-run=client` lists" in told
        assert scene.stored(CONFIG_MAPS, "i-dropped") is not None
        scene.network.seen.clear()
        await run(scene, "deploy")
        assert writes(scene) == []
        await update(scene, TEXT="one")
        assert orphans(scene) is None
        assert "orphanedBy" not in on_record(scene)["i-dropped"]
        await asyncio.sleep(10)
        assert len(scene.told("ObjectsOrphaned")) == 1

    play(body)


def test_an_object_that_is_gone_leaves_the_record_as_an_orphan_or_before_it_is_one() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(DROPPED, deploy=["apply"]))
        await scene.admin.delete(CONFIG_MAPS, "i-dropped", namespace="ns")
        await update(scene, TEXT="two")
        assert orphans(scene) is None
        assert set(on_record(scene)) == {"i-kept"}
        await update(scene, TEXT="one")
        await update(scene, TEXT="two")
        assert len(orphans(scene)) == 1
        await scene.admin.delete(CONFIG_MAPS, "i-dropped", namespace="ns")
        await asyncio.sleep(10)
        await run(scene, "deploy")
        assert orphans(scene) is None
        assert set(on_record(scene)) == {"i-kept"}

    play(body)


def test_what_cannot_be_read_is_an_orphan_and_never_gone() -> None:
    async def body(scene: Scene) -> None:
        network = Refusing(scene.life.rng, 0.0)
        for transport in scene.life.replicas[0].process.transports:
            transport.network = network
        network.refused = lambda sent: (
            sent.method == "GET" and sent.path.endswith("/configmaps/i-dropped")
        )
        await scene.install("i", of=version(DROPPED, deploy=["apply"]))
        await asyncio.sleep(10)
        await scene.admin.delete(CONFIG_MAPS, "i-dropped", namespace="ns")
        await update(scene, TEXT="two")
        assert len(orphans(scene)) == 1
        network.refused = lambda _: False
        await run(scene, "deploy")
        assert orphans(scene) is None
        assert set(on_record(scene)) == {"i-kept"}

    play(body)


def test_a_long_search_for_orphans_holds_no_worker_and_the_run_ends_once() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(DROPPED, deploy=["apply"]))
        await asyncio.sleep(10)
        await scene.admin.delete(CONFIG_MAPS, "i-dropped", namespace="ns")
        scene.network.held = lambda sent: 20.0 if sent.path.endswith("/i-dropped") else 0.0
        scene.network.seen.clear()
        await update(scene, TEXT="two")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert set(on_record(scene)) == {"i-kept"}
        await asyncio.sleep(10)
        assert len(scene.network.sent("GET", "i-dropped")) == 1
        assert len(scene.network.sent("PATCH", "i-kept")) == 1
        finished = [text for text in scene.told("PlanFinished") if "COMPLETE" in text]
        assert len(finished) == 2

    play(body)


@pytest.mark.parametrize("after", ["done", "fails"])
def test_what_a_run_deletes_leaves_the_record_whether_it_succeeds_or_not(after: str) -> None:
    async def body(scene: Scene) -> None:
        done = build.task("done", "Dummy", done=True)
        of = operator(
            TEMPLATES,
            [ONE, TWO, DELETE, FAILS, done],
            deploy=[["one"], ["two"]],
            remove=[["delete"], [after]],
        )
        await scene.install("i", of=of)
        scene.network.seen.clear()
        await run(scene, "remove")
        assert set(on_record(scene)) == {"one"}
        assert writes(scene) == ["PUT"]
        await run(scene, "deploy")
        assert set(on_record(scene)) == {"one", "two"}

    play(body)


def test_what_a_toggle_deletes_leaves_the_record() -> None:
    async def body(scene: Scene) -> None:
        of = operator(TEMPLATES, [ONE, TOGGLE], deploy=[["one"], ["two"]])
        await scene.install("i", of=of)
        await update(scene, ON="false")
        assert set(on_record(scene)) == {"one"}
        assert orphans(scene) is None

    play(body)


def test_what_is_deleted_and_applied_again_in_a_run_stays_on_record() -> None:
    async def body(scene: Scene) -> None:
        of = operator(TEMPLATES, [TWO, DELETE], deploy=[["delete"], ["two"]])
        await scene.install("i", of=of)
        await run(scene, "deploy")
        assert set(on_record(scene)) == {"two"}
        assert writes(scene) == ["POST"]

    play(body)


def test_a_task_that_no_plan_has_any_more_leaves_orphans() -> None:
    async def body(scene: Scene) -> None:
        template = role("{{ .Name }}")
        templates = {**TEMPLATES, "two.yaml": template}
        await scene.install("i", of=operator(templates, [ONE, TWO], deploy=[["one"], ["two"]]))
        await scene.life.put_version(operator(templates, [ONE], deploy=[["one"]]))
        await run(scene, "deploy")
        (orphan,) = orphans(scene)
        assert (orphan["kind"], orphan["name"]) == ("ClusterRole", "i")
        assert "namespace" not in orphan
        assert scene.stored(ROLES, "i") is not None

    play(body)


def test_a_failed_run_leaves_no_orphans() -> None:
    async def body(scene: Scene) -> None:
        templates = {**TEMPLATES, "two.yaml": DROPPED}
        of = operator(templates, [TWO, FAILS], deploy=[["two"]], update=[["two"], ["fails"]])
        await scene.install("i", of=of)
        await update(scene, TEXT="two")
        assert scene.entry("i", "update")["status"] == "FATAL_ERROR"
        assert orphans(scene) is None
        assert not any("orphanedBy" in obj for obj in on_record(scene).values())

    play(body)


def test_nothing_is_recorded_while_an_instance_is_deleted_without_a_record() -> None:
    async def body(scene: Scene) -> None:
        of = operator(TEMPLATES, [ONE, FAILS], deploy=[["fails"]], cleanup=[["one"]])
        await scene.install("i", of=of)
        await scene.delete("i")
        assert scene.life.observed.instance("i") is None
        assert len(scene.network.sent("PATCH", "configmaps")) == 1
        assert writes(scene) == []

    play(body)


def test_a_record_goes_with_its_instance_and_nobody_is_blamed() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(CONFIG_MAP, deploy=["apply"]))
        uid = scene.uid("i")
        await scene.delete("i")
        await asyncio.sleep(60)
        assert scene.stored(INVENTORIES, f"i.{uid[:8]}.0") is None
        assert writes(scene) == ["POST"]
        assert scene.told("InventoryChanged") == []

    play(body)
