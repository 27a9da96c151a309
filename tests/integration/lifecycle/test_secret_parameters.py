"""The value of a secret parameter, looked for in etcd, logs, metrics, diagnostics and answers."""

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from kubeio.client import Client
from kubeio.resource import SECRETS
from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.commands import Done
from tests.support.cluster.world import World

CANARY: Final = "canary/4711+in & a=cage"
PREFIX: Final = b"/registry/"


def secret(value: str) -> Json:
    metadata = {"name": "db"}
    data = {"password": base64.b64encode(value.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def version() -> Json:
    """Return a version that uses a password; some plans fail in ways that could quote it."""
    login = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "{{ .Name }}-login"},
        "stringData": {"password": "{{ .Params.PASSWORD }}"},
    }
    web = build.deployment("{{ .Name }}-web", ready_delay="3s")
    used = {"name": "login", "secret": {"secretName": "{{ .Name }}-login"}}
    web["spec"]["template"]["spec"]["volumes"] = [used]
    # The API server quotes what is wrong in its refusals.
    port = {"name": "a", "port": 1, "targetPort": "{{ .Params.PASSWORD }}"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "{{ .Name }}"}}
    typed = build.deployment("{{ .Name }}-typed")
    typed["spec"]["paused"] = "{{ .Params.PASSWORD }}"
    return build.operator_version(
        "db-1",
        templates={
            "login.yaml": build.template(login),
            "web.yaml": build.template(web),
            "refused.yaml": build.template({**service, "spec": {"ports": [port]}}),
            "typed.yaml": build.template(typed),
            "named.yaml": build.template(build.config_map("{{ .Params.PASSWORD }}")),
        },
        parameters=[build.parameter("PASSWORD", secret=True), build.parameter("A", "1")],
        plans={
            "deploy": build.plan({"login": ["login"], "web": ["web"]}),
            "update": build.plan({"login": ["login", "web"]}),
            "refused": build.plan({"refused": ["refused"]}),
            "typed": build.plan({"typed": ["typed"]}),
            "named": build.plan({"named": ["named"]}),
        },
    )


def instance() -> Json:
    made = build.instance("i", "db-1")
    made["spec"]["parametersFrom"] = [reference("password")]
    return made


def reference(key: str) -> Json:
    return {"name": "PASSWORD", "secretKeyRef": {"name": "db", "key": key}}


def forms(value: str) -> Iterator[bytes]:
    content = value.encode()
    yield from (content, content.hex().encode(), quote(value, safe="").encode())
    yield json.dumps(value)[1:-1].encode()
    for before in range(3):
        text = base64.b64encode(b"\0" * before + content)
        yield text[4 if before else 0 : -4]


def dumped(cluster: Cluster) -> dict[str, bytes]:
    """Return all that etcd has, by key."""
    port = next(one.port for one in cluster.state.components if one.name == "etcd")
    end = PREFIX[:-1] + bytes([PREFIX[-1] + 1])
    asked = {
        "key": base64.b64encode(PREFIX).decode(),
        "range_end": base64.b64encode(end).decode(),
    }
    url = f"http://127.0.0.1:{port}/v3/kv/range"
    request = Request(url, json.dumps(asked).encode(), {"Content-Type": "application/json"})
    with urlopen(request) as answer:
        found = json.loads(answer.read())["kvs"]
    decode = base64.b64decode
    return {decode(kv["key"]).decode(): decode(kv.get("value", "")) for kv in found}


@pytest.fixture
def talkative(installation: Installation) -> Iterator[Installation]:
    """Have a reconciler and a webhook in place of the ordinary ones that log all they can."""
    ordinary = installation.reconciler, installation.webhook
    for service in ordinary:
        service.stop()
    reconciler, webhook = ordinary
    options = ("--log-level=debug", "--recheck=1")
    installation.reconciler = installation.another_reconciler("reconciler-talkative", *options)
    command = [*webhook.command, "--log-level=debug"]
    log = webhook.log.with_name("webhook-talkative.log")
    installation.webhook = replace(webhook, command=command, log=log, process=None)
    try:
        installation.webhook.start()
        installation.reconciler.start()
        yield installation
    finally:
        installation.reconciler.stop()
        installation.webhook.stop()
        installation.reconciler, installation.webhook = ordinary
        webhook.start()
        reconciler.start()


async def answers(world: World) -> list[Done]:
    """Return what users see of admission: of a change that passes, and of two that do not.

    The second one is let through with a warning in compat. The command line of a user who types
    the value has it, so kubectl does not log requests here.
    """
    spec = {
        "passes": {"parametersFrom": [reference("other")]},
        "plain": {"parametersFrom": None, "parameters": {"PASSWORD": CANARY}},
        "twice": {"parameters": {"PASSWORD": CANARY}},
    }
    found = []
    for changed in spec.values():
        patch = json.dumps({"spec": changed})
        options = ("--dry-run=server", "--type=merge", f"--patch={patch}")
        found.append(await world.kubectl("patch", "instances.kudo.dev", "i", *options))
    return found


def collected(folder: Path) -> Iterator[bytes]:
    """Yield the contents of all files of a bundle."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            yield gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


async def test_a_canary_is_in_its_secret_and_where_the_template_puts_it_and_nowhere_else(
    talkative: Installation, world: World, admin: Client, tmp_path: Path
) -> None:
    cluster, reconciler = talkative.cluster, talkative.reconciler
    assert isinstance(cluster, Cluster)
    await admin.create(SECRETS, secret(CANARY), namespace=world.namespace)
    done = await world.apply(version(), instance())
    assert done.code == 0, done.output
    said = []
    await world.until("i", lambda i: "i-web" in instances.messages(i, "deploy"), "a wait")
    reconciler.kill()
    reconciler.start()
    await world.until_complete("i")
    said.append(await world.kudo("-v=9", "update", "--instance=i", "-p=A=2"))
    await world.until_complete("i", "update")
    places: dict[str, bytes] = {}
    for plan in ("refused", "typed", "named", "refused"):
        said.append(await world.kudo("-v=9", "plan", "trigger", "--instance=i", f"--name={plan}"))
        await world.until_failed("i", plan)
        places |= dumped(cluster)
    last = await world.until_failed("i", "refused")
    said.append(await world.kudo("-v=9", "plan", "retry", "--instance=i", "--name=refused"))
    retried = await world.until_failed("i", "refused")
    failed = last["status"]["planStatus"]["refused"]["uid"]
    assert retried["status"]["planStatus"]["refused"]["retryOf"] == failed
    for command in (["plan", "status"], ["describe", "instance"], ["plan", "history"], ["why"]):
        named = ["--instance=i"] if command[0] == "plan" else ["i"]
        said.append(await world.kudo("-v=9", *command, *named))
    bundle = tmp_path / "bundle"
    whose = f"--kubeconfig={cluster.kubeconfig('admin')}"
    said.append(await world.kudo("-v=9", "diagnostics", "collect", "i", f"-O={bundle}", whose))
    passed, warned, denied = await answers(world)
    await world.events_written()
    places |= dumped(cluster)
    assert [one.code for one in (*said, passed, warned)] == [0] * (len(said) + 2), said
    assert "Warning: " in warned.stderr
    assert denied.code != 0
    assert "PASSWORD" in denied.stderr

    found = {key for key, value in places.items() if any(form in value for form in forms(CANARY))}
    secrets = f"/registry/secrets/{world.namespace}"
    assert found == {f"{secrets}/db", f"{secrets}/i-login"}
    texts = {
        "reconciler": reconciler.log.read_bytes(),
        "webhook": talkative.webhook.log.read_bytes(),
        "metrics": reconciler.get("/metrics")[1].encode(),
        "command line": "".join(one.output for one in said).encode(),
        "admission": "".join(one.output for one in (passed, warned, denied)).encode(),
        "diagnostics": b"\n".join(collected(bundle)),
    }
    for name, text in texts.items():
        assert text
        assert not [form for form in forms(CANARY) if form in text], name
