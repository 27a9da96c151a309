"""The example operators with real containers: what their scripts and images do."""

import urllib.request
from functools import partial
from pathlib import Path

from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import DEPLOYMENTS
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WAIT = ("--wait", "--wait-time", "120s")
NAME = "first-operator-instance"


async def kudo(world: World, *arguments: str) -> None:
    done = await world.kudo(*arguments)
    assert done.code == 0, done.output


def page(inside: Kubectl) -> bytes:
    """Fetch what the operator serves, as this machine sees it."""
    spec = inside.get(f"service/{NAME}")["spec"]
    url = f"http://{spec['clusterIP']}:{spec['ports'][0]['port']}/"
    with urllib.request.urlopen(url, timeout=2) as answer:
        return bytes(answer.read())


async def until_page(inside: Kubectl, expected: bytes) -> None:
    seen = b""

    async def served() -> bool:
        nonlocal seen
        try:
            seen = page(inside)
        except OSError as error:
            seen = str(error).encode()
        return seen == expected

    await wait_until(served, lambda: f"the page {expected!r}; last seen: {seen!r}", 150)


async def gone(inside: Kubectl) -> bool:
    return not inside.get("pods")["items"]


async def test_the_first_operator_serves_what_it_is_told_to(world: World, inside: Kubectl) -> None:
    await kudo(world, "install", str(EXAMPLES / "first-operator"), *WAIT)
    await world.until_complete(NAME)
    assert (await world.get(DEPLOYMENTS, NAME))["status"]["readyReplicas"] == 2
    await until_page(inside, b"Hello from KUDO!")
    await kudo(world, "update", "--instance", NAME, "-p", "greeting=Good morning!", *WAIT)
    await until_page(inside, b"Good morning!")
    await kudo(world, "plan", "trigger", "--instance", NAME, "--name", "check", *WAIT)
    await world.until_complete(NAME, "check")
    await kudo(world, "uninstall", "--instance", NAME, *WAIT)
    await wait_until(partial(gone, inside), lambda: "every pod to be gone")
