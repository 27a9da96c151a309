"""How many objects an Instance may have, and what is on record of those that are not applied."""

import pytest

from kubeio.resource import SERVICE_ACCOUNTS
from kubeio.types import JsonObject
from kudo.api import bounds
from tests.support import build
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import StatusError
from tests.unit.reconciler.records.recorded import (
    inventory,
    on_record,
    operator,
    run,
    update,
    writes,
)
from tests.unit.reconciler.scenes.scene import (
    CONFIG_MAPS,
    STRICT,
    Scene,
    of_kind,
    play,
)
from tests.unit.reconciler.tenancy.test_accounts import until_says

MOST = 10
ACCOUNT, USER = "bob", "system:serviceaccount:ns:bob"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small bound shows the same as the real one, sooner."""
    monkeypatch.setattr(bounds, "INSTANCE_OBJECTS", MOST)


def many(number: int, name: str) -> str:
    return f"{{{{ range $i := until {number} }}}}\n---\n" + of_kind(
        "ConfigMap", f"{name}-{{{{ $i }}}}", "{{ $.Params.TEXT }}"
    ) + "\n{{ end }}"  # fmt: skip


def applying(*numbers: int) -> JsonObject:
    """Return an OperatorVersion with a task and a step for each number of objects."""
    names = [f"t{n}" for n, _ in enumerate(numbers)]
    templates = {
        f"{name}.yaml": many(number, name) for name, number in zip(names, numbers, strict=True)
    }
    tasks = [build.task(name, "Apply", f"{name}.yaml") for name in names]
    return operator(templates, tasks, deploy=[[name] for name in names])


def applied(scene: Scene) -> int:
    table = scene.life.cluster.server.storage.table(("", "configmaps")).objects
    return len(table)


def test_as_many_objects_as_an_instance_may_have_are_applied() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=applying(6, 4))
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert len(on_record(scene)) == MOST

    play(body)


def test_a_plan_of_more_ends_before_anything_is_sent_or_recorded() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=applying(6, 5))
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        assert (
            'plan "deploy" applies more than 10 objects: have several Instances apply them'
        ) in scene.message("i", "deploy")
        assert inventory(scene) is None
        assert applied(scene) == 0

    play(body)


def test_a_run_that_would_add_too_many_to_the_record_ends() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=applying(8))
        of = applying(2, 3)
        of["spec"]["tasks"][0]["spec"]["resources"] = ["t1.yaml"]
        of["spec"]["plans"]["deploy"] = build.serial(["t0"])
        await scene.life.put_version(of)
        await run(scene, "deploy")
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        assert (
            "the Instance would have 11 objects on record, and 10 is the limit"
        ) in scene.message("i", "deploy")
        assert len(on_record(scene)) == 8
        assert scene.stored(CONFIG_MAPS, "t1-0") is None

    play(body)


def test_an_instance_with_more_on_record_lives_on_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one of an older release: its plans may apply fewer."""

    async def body(scene: Scene) -> None:
        of = applying(8, 5)
        monkeypatch.setattr(bounds, "INSTANCE_OBJECTS", 100)
        await scene.install("i", of=of)
        monkeypatch.setattr(bounds, "INSTANCE_OBJECTS", MOST)
        await run(scene, "deploy")
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        assert len(on_record(scene)) == 13
        await scene.life.put_version(applying(8))
        await update(scene, TEXT="two")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert len(on_record(scene)) == 13
        await scene.life.user.delete("i")
        await scene.until(lambda: scene.life.observed.instance("i") is None)

    play(body)


# Objects that the account may not apply


async def begin(scene: Scene) -> list[str]:
    """Create the account, which may not patch kinds that the returned list names."""
    refused: list[str] = []
    server = scene.life.cluster.server

    def authorize(request: Request) -> None:
        plural = next((one for one in refused if one in request.path.split("/")), None)
        if plural and (request.user, request.method) == (USER, "PATCH"):
            text = f'User "{USER}" cannot patch resource "{plural}"'
            raise StatusError(403, "Forbidden", text)

    server.authorize = authorize
    server.may = lambda user, asked: (
        not (user == USER and asked["verb"] == "patch" and asked["resource"] in refused)
    )
    metadata: JsonObject = {"metadata": {"name": ACCOUNT, "namespace": "ns"}}
    await scene.admin.create(SERVICE_ACCOUNTS, metadata)
    return refused


async def install(scene: Scene, of: JsonObject) -> None:
    await scene.life.put_version(of)
    await scene.life.user.create("i", {}, {"serviceAccountName": ACCOUNT})


def test_nothing_is_on_record_before_the_account_may_apply_the_first_object() -> None:
    async def body(scene: Scene) -> None:
        refused = await begin(scene)
        refused.append("configmaps")
        await install(scene, applying(3, 3))
        text = (
            f'configmaps "t0-0" is forbidden: User "{USER}" cannot patch resource "configmaps" in '
        )
        await until_says(scene, text)
        assert 'API group "" in the namespace "ns"' in scene.message("i", "deploy")
        assert scene.message("i", "deploy").count("failed to apply ConfigMap t0-0: ") == 1
        assert writes(scene) == []
        assert scene.network.sent("PATCH", "configmaps") == []
        # It goes on once it has the right.
        refused.clear()
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert len(on_record(scene)) == 6

    play(body, STRICT)


def test_a_right_on_the_object_alone_is_enough() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene)
        scene.life.cluster.server.may = lambda _, asked: asked.get("name") in {"t0-0", "t0-1"}
        await install(scene, applying(2))
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"
        assert len(on_record(scene)) == 2

    play(body, STRICT)


def test_nothing_is_on_record_for_an_account_that_nobody_may_act_as() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene)

        def authorize(request: Request) -> None:
            if request.user == USER:
                text = f'serviceaccounts "{ACCOUNT}" is forbidden: cannot impersonate it'
                raise StatusError(403, "Forbidden", text)

        scene.life.cluster.server.authorize = authorize
        await install(scene, applying(2))
        await until_says(scene, "cannot impersonate")
        assert writes(scene) == []

    play(body, STRICT)


def test_a_review_that_fails_keeps_nobody_from_applying() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene)

        def authorize(request: Request) -> None:
            if "selfsubjectaccessreviews" in request.path:
                raise StatusError(403, "Forbidden", "no reviews here")

        scene.life.cluster.server.authorize = authorize
        await install(scene, applying(2))
        await scene.until_idle("i")
        assert scene.entry("i", "deploy")["status"] == "COMPLETE"

    play(body, STRICT)
