"""Values of secret parameters are nowhere but in their Secret and where a template puts them.

All that was ever stored is looked through, all that is logged down to DEBUG, and the metrics, for a
value in plain, in base64, in hexadecimal digits and as in a URL; and for what a short value could
be guessed from.
"""

import base64
import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import quote

import pytest
from prometheus_client import generate_latest

from kubeio.resource import SECRETS
from kudo.api.fingerprints import digest_of, fingerprint
from kudo.objects.dependency_hash import content_digest, dependencies_hash, digest_text
from tests.support import build, instances
from tests.support.build import Json
from tests.support.loops.virtual_loop import run_virtually
from tests.support.world.memory import MemoryWorld

CANARY: Final = "canary/4711+in & a=cage"
PUT_INTO: Final = {("secrets", "db"), ("secrets", "i-login"), ("configmaps", "i-careless")}
"""Where the value is, and where templates put it."""


def secret(value: str) -> Json:
    data = {"password": base64.b64encode(value.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": data}


def login(value: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "i-login"},
        "stringData": {"password": value},
    }


def version() -> Json:
    """Return a version that uses a password, and whose plans fail in ways that quote it."""
    web = build.deployment("i-web", ready_delay="5s")
    web["spec"]["template"]["spec"]["volumes"] = [
        {"name": "login", "secret": {"secretName": "i-login"}},
        {"name": "careless", "configMap": {"name": "i-careless"}},
    ]
    job = {
        "podTemplate": "pod.yaml",
        "command": ["check"],
        "env": [{"name": "PASSWORD", "value": "{{ .Params.PASSWORD }}"}],
        "outputs": ["password"],
    }
    said = {"kwok.kudo.dev/termination-message": json.dumps({"password": CANARY})}
    pod = {
        "metadata": {"annotations": said},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }
    named = build.config_map("{{ .Params.PASSWORD }}")
    careless = build.config_map("i-careless", password="{{ .Params.PASSWORD }}")
    return build.operator_version(
        "db-1",
        templates={
            "login.yaml": build.template(login("{{ .Params.PASSWORD }}")),
            "careless.yaml": build.template(careless),
            "web.yaml": build.template(web),
            "named.yaml": build.template(named),
            "broken.yaml": "{{ .Params.PASSWORD }}: {",
            "pod.yaml": json.dumps(pod),
        },
        parameters=[
            build.parameter("PASSWORD", secret=True),
            build.parameter("A", "1"),
        ],
        tasks=[
            *(
                build.task(name, "Apply", f"{name}.yaml")
                for name in ("login", "careless", "web", "named", "broken")
            ),
            build.task("tell", "Job", job=job),
        ],
        plans={
            "deploy": build.plan({"login": ["login", "careless"], "web": ["web"]}),
            "update": build.plan({"login": ["login", "careless", "web"]}),
            "named": build.plan({"named": ["named"]}),
            "broken": build.plan({"broken": ["broken"]}),
            "told": build.plan({"tell": ["tell"]}),
        },
    )


def instance() -> Json:
    made = build.instance("i", "db-1")
    reference = {"name": "db", "key": "password"}
    made["spec"]["parametersFrom"] = [{"name": "PASSWORD", "secretKeyRef": reference}]
    return made


async def lived(value: str, made: Json, *plans: str) -> tuple[dict[tuple[str, str], str], str]:
    """Let an Instance live through an install, a crash, an update and failed runs.

    Returns:
        All states of each object, by resource and name; the metrics.
    """
    async with MemoryWorld.running() as world, world.client_as("admin") as admin:
        await admin.create(SECRETS, secret(value), namespace=world.namespace)
        done = await world.apply(version(), made)
        assert done.code == 0, done.output
        await world.until("i", lambda i: "i-web" in instances.messages(i, "deploy"), "a wait")
        await world.reconciler.kill()
        await world.reconciler.start()
        await world.until_complete("i")
        await world.patch("i", {"parameters": {**made["spec"]["parameters"], "A": "2"}})
        await world.until_complete("i", "update")
        for plan in plans:
            await world.patch("i", {"planExecution": {"planName": plan}})
            await world.until_failed("i", plan)
        await world.events_written()
        replica = world.reconciler.replica
        assert replica is not None
        metrics = generate_latest(replica.metrics.registry).decode()
        stored: dict[tuple[str, str], str] = {}
        for (_, resource), table in world.cluster.server.storage.tables.items():
            for revision in table.history:
                place = resource, revision.new["metadata"]["name"]
                stored[place] = stored.get(place, "") + json.dumps(revision.new)
        return stored, metrics


def forms(value: str) -> Iterator[str]:
    content = value.encode()
    yield from (value, json.dumps(value)[1:-1], content.hex(), quote(value, safe=""), quote(value))
    for before in range(3):
        text = base64.b64encode(b"\0" * before + content).decode()
        yield text[4 if before else 0 : -4]
    yield repr(value)[1:-1]


def test_a_canary_is_only_in_its_secret_and_where_templates_put_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    stored, metrics = run_virtually(lived(CANARY, instance(), "named", "broken", "told"))
    found = {
        place
        for place, text in stored.items()
        if any(form in text or json.dumps(form)[1:-1] in text for form in forms(CANARY))
    }
    jobs = {place for place in stored if place[0] in {"jobs", "pods"}}
    assert found - jobs == PUT_INTO | {("operatorversions", "db-1")} & found
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert logged
    for form in forms(CANARY):
        assert form not in logged
        assert form not in metrics


def digests(value: str) -> Iterator[str]:
    """Yield what is made without a key of a value, and of what the templates make of it."""
    yield fingerprint(value)
    for algorithm in ("md5", "sha1", "sha256", "blake2b"):
        for text in (value, f"{value}\n", base64.b64encode(value.encode()).decode()):
            yield hashlib.new(algorithm, text.encode()).hexdigest()[:16]
    made, careless = login(value), build.config_map("i-careless", password=value)
    yield from (digest_of(careless, None), hashlib.sha256(canonical(made)).hexdigest()[:32])
    contents = [content_digest(labelled(obj)) for obj in (made, careless, secret(value))]
    yield from map(digest_text, contents)
    yield dependencies_hash([contents[1], contents[0]])
    yield dependencies_hash([contents[0]])


def labelled(obj: Json) -> Json:
    labels = {"heritage": "kudo", "kudo.dev/instance": "i", "kudo.dev/operator": "op"}
    return {**obj, "metadata": {**obj["metadata"], "labels": labels}}


def canonical(obj: Json) -> bytes:
    return json.dumps(obj, separators=(",", ":"), sort_keys=True).encode()


@pytest.mark.parametrize("guarded", [True, False])
def test_a_pin_cannot_be_guessed_from_what_readers_of_instances_pods_and_inventories_see(
    guarded: bool,
) -> None:
    pin = "4711"
    made = instance()
    if not guarded:
        # To show that the search finds something: the same as a value of the Instance.
        made["spec"] = {**made["spec"], "parameters": {"PASSWORD": pin}}
        del made["spec"]["parametersFrom"]
    stored, _ = run_virtually(lived(pin, made))
    text = "".join(
        states
        for (resource, name), states in stored.items()
        if resource != "secrets" and (resource, name) not in PUT_INTO
    )
    assert '"kind": "Inventory"' in text
    found = {digest for digest in digests(pin) if digest[:16] in text}
    if guarded:
        assert not found
    else:
        assert {fingerprint(pin), dependencies_hash(found_contents(pin))} <= found


def found_contents(pin: str) -> list[bytes]:
    contents = login(pin), build.config_map("i-careless", password=pin)
    return [content_digest(labelled(obj)) for obj in (contents[1], contents[0])]


async def told_without_key() -> str:
    async with MemoryWorld.running() as world, world.client_as("admin") as admin:
        await world.reconciler.stop()
        world.reconciler.settings = replace(world.reconciler.settings, digest_key=None)
        await world.reconciler.start()
        await admin.create(SECRETS, secret(CANARY), namespace=world.namespace)
        done = await world.apply(version(), instance())
        assert done.code == 0, done.output
        held = await world.until(
            "i", lambda i: instances.reason_of(i)[1] == "DigestKeyMissing", "the run to wait"
        )
        assert "lastRun" not in held["status"]
        assert await world.find(SECRETS, "i-login") is None
        return str(instances.ready(held)["message"])


def test_without_a_key_nothing_begins_and_the_text_has_the_command_that_makes_one() -> None:
    assert "kubectl create secret generic kudo-digest-key" in run_virtually(told_without_key())
