"""Pipe tasks with real containers: bytes, crashes, evictions, failing init containers, limits."""

import base64
import hashlib
import json
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.events import until_event
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WAIT = ("--wait", "--wait-time", "120s")
NAME = "pipe-page-instance"
PREFIX = "i.deploy.phase1.make.pipe"
POD = f"pod/{PREFIX}.pipepod"


def generator(script: str) -> str:
    """Return the template of a pod that is let in where only restricted pods are."""
    rights = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {
        "name": "gen",
        "image": "busybox",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script],
        "securityContext": rights,
        "volumeMounts": [{"name": "out", "mountPath": "/out"}],
    }
    user = {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {
        "securityContext": user,
        "terminationGracePeriodSeconds": 1,
        "initContainers": [container],
        "volumes": [{"name": "out", "emptyDir": {}}],
    }
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "spec": spec})


async def install(world: World, script: str, *files: str) -> None:
    """Create an Instance that copies files, each into a ConfigMap with the file's name as key."""
    entries = [{"file": f"/out/{name}", "kind": "ConfigMap", "key": name} for name in files]
    version = build.operator_version(
        "v",
        templates={"pod.yaml": generator(script)},
        tasks=[{"name": "pipe", "kind": "Pipe", "spec": {"pod": "pod.yaml", "pipe": entries}}],
        plans={"deploy": build.plan({"make": ["pipe"]})},
    )
    done = await world.apply(version, build.instance("i", "v"))
    assert done.code == 0, done.output


async def content(world: World, name: str) -> bytes:
    found = await world.get(CONFIG_MAPS, f"{PREFIX}.{name}")
    return base64.b64decode(found["binaryData"][name])


async def until_running(inside: Kubectl, *, but: str = "") -> Json:
    """Wait until the init container of a pod other than `but` runs."""
    seen: list[Json] = []

    async def running() -> bool:
        pods = inside.get("pods")["items"]
        seen[:] = [
            pod
            for pod in pods
            if pod["metadata"]["uid"] != but
            for container in pod["status"].get("initContainerStatuses", [])
            if "running" in container["state"]
        ]
        return bool(seen)

    await wait_until(running, lambda: "a pipe pod whose init container runs")
    return seen[0]


async def no_pods(inside: Kubectl) -> bool:
    return not inside.get("pods")["items"]


async def kudo(world: World, *arguments: str) -> None:
    done = await world.kudo(*arguments)
    assert done.code == 0, done.output


def fetch(inside: Kubectl) -> bytes:
    spec = inside.get(f"service/{NAME}")["spec"]
    with urllib.request.urlopen(f"http://{spec['clusterIP']}/", timeout=2) as answer:
        return bytes(answer.read())


async def until_served(inside: Kubectl, expected: bytes) -> None:
    seen = b""

    async def served() -> bool:
        nonlocal seen
        try:
            seen = fetch(inside)
        except OSError as error:
            seen = str(error).encode()
        return seen == expected

    await wait_until(served, lambda: f"the page {expected!r}; last seen: {seen!r}")


def page(title: str, lines: int) -> bytes:
    body = [f"<p>line {number} of {lines}</p>" for number in range(1, lines + 1)]
    return "".join(f"{line}\n" for line in (f"<h1>{title}</h1>", *body)).encode()


async def test_a_page_made_in_an_init_container_is_served(world: World, inside: Kubectl) -> None:
    restricted = "pod-security.kubernetes.io/enforce=restricted"
    inside("label", "namespace", world.namespace, restricted)
    await kudo(world, "install", str(EXAMPLES / "pipe-page"), *WAIT)
    await world.until_complete(NAME)
    await until_served(inside, page("Made in an init container", 3))
    secret = inside.get("secret", "pipepageinstance.deploy.page.generate.generate.settings")
    assert len(base64.b64decode(secret["data"]["PASSWORD"])) == 32
    values = ("-p", "title=Caf\u00e9 & \"Bar\" $HOME 'x'", "-p", "lines=100")
    await kudo(world, "update", "--instance", NAME, *values, *WAIT)
    await until_served(inside, page("Caf\u00e9 & \"Bar\" $HOME 'x'", 100))
    await kudo(world, "uninstall", "--instance", NAME, *WAIT)
    await wait_until(partial(no_pods, inside), lambda: "every pod to be gone")


async def test_every_byte_of_a_mebibyte_arrives(world: World, inside: Kubectl) -> None:
    script = (
        "head -c 1048576 /dev/urandom > /out/big; sha256sum < /out/big > /out/sum; "
        r"printf '\000\001\r\n\377' > /out/odd; : > /out/empty"
    )
    await install(world, script, "big", "sum", "odd", "empty")
    await world.until_complete("i")
    big = await content(world, "big")
    assert len(big) == 1048576
    assert hashlib.sha256(big).hexdigest() == (await content(world, "sum")).split()[0].decode()
    assert await content(world, "odd") == b"\x00\x01\r\n\xff"
    assert await content(world, "empty") == b""
    await wait_until(partial(no_pods, inside), lambda: "the pipe pod to be gone")


async def test_a_byte_more_than_a_mebibyte_ends_the_plan(world: World, inside: Kubectl) -> None:
    await install(world, "echo a > /out/a; head -c 1048577 /dev/zero > /out/big", "a", "big")
    failed = await world.until_failed("i")
    text = "pipe file /out/big size 1048577 exceeds maximum file size of 1048576 bytes"
    assert text in instances.messages(failed, "deploy")
    assert await world.find(CONFIG_MAPS, f"{PREFIX}.a") is None
    await wait_until(partial(no_pods, inside), lambda: "the pipe pod to be gone")


async def test_a_file_that_was_not_made_ends_the_plan(world: World, inside: Kubectl) -> None:
    await install(world, "echo a > /out/a; ln -s a /out/link; mkdir /out/folder", "a", "none")
    message = instances.messages(await world.until_failed("i"), "deploy")
    assert "stat ended with exit code 1: stat: can't stat '/out/none': No such file" in message
    await wait_until(partial(no_pods, inside), lambda: "the pipe pod to be gone")


GATED = "until test -e /out/go; do sleep 0.1; done; "


def let_go(inside: Kubectl) -> None:
    """Have the init container go on."""
    inside("exec", POD, "--container=gen", "--", "touch", "/out/go")


async def test_an_init_container_that_fails_is_started_again(world: World, inside: Kubectl) -> None:
    # Only messages change here, which is written every two seconds at most: the second try waits.
    script = f"echo >> /out/tries; test $(wc -l < /out/tries) = 2 || exit 3; {GATED}true"
    await install(world, script, "tries")
    text = "init container gen ended with exit code 3 (Error)"
    await world.until("i", lambda i: text in instances.messages(i, "deploy"), text)
    await until_running(inside)
    let_go(inside)
    await world.until_complete("i")
    assert await content(world, "tries") == b"\n\n"


async def test_a_pod_that_is_evicted_while_it_is_waited_for_is_replaced(
    world: World, inside: Kubectl
) -> None:
    await install(world, GATED + "cat /proc/sys/kernel/random/uuid > /out/a", "a")
    first = await until_running(inside)
    eviction: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": first["metadata"]["name"], "namespace": world.namespace},
    }
    path = f"/api/v1/namespaces/{world.namespace}/pods/{first['metadata']['name']}/eviction"
    inside("create", "--raw", path, "--filename=-", stdin=json.dumps(eviction))
    await until_running(inside, but=first["metadata"]["uid"])
    let_go(inside)
    await world.until_complete("i")
    assert len(await content(world, "a")) == 37
    assert (await until_event(world, "PipePodReplaced"))["type"] == "Warning"


async def test_a_reconciler_that_dies_between_copy_and_artifact_uses_the_same_pod(
    world: World, inside: Kubectl
) -> None:
    await install(world, GATED + "cat /proc/sys/kernel/random/uuid > /out/a", "a")
    pod = await until_running(inside)
    here = len(inside.get("configmaps")["items"])
    inside("create", "quota", "few", f"--hard=count/configmaps={here}")
    counted = f"jsonpath={{.status.used.count/configmaps}}={here}"
    inside.wait(counted, "resourcequota/few")
    let_go(inside)
    text = f"failed to apply ConfigMap {PREFIX}.a"
    await world.until("i", lambda i: text in instances.messages(i, "deploy"), text)
    made = inside("exec", POD, "--container=waiter", "--", "cat", "/out/a")
    world.installation.reconciler.kill()
    inside("delete", "quota", "few")
    world.installation.reconciler.start()
    await world.until_complete("i")
    assert (await content(world, "a")).decode() == made
    events = inside.get("events", "--field-selector=reason=Scheduled")["items"]
    assert [event["involvedObject"]["uid"] for event in events] == [pod["metadata"]["uid"]]
    await wait_until(partial(no_pods, inside), lambda: "the pipe pod to be gone")
