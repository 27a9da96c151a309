"""Trees of Instances with real containers: the example, a child that fails, one changed by hand."""

import gzip
import urllib.request
from pathlib import Path

from tests.e2e.objects import job, server
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster import children
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

PACKAGE = Path(__file__).resolve().parents[2] / "examples" / "parent-child"
WAIT = ("--wait", "--wait-time", "120s")
TREE = ("paper", "paper-newsroom", "paper-newsroom-weather")


async def kudo(world: World, *arguments: str) -> None:
    done = await world.kudo(*arguments)
    assert done.code == 0, done.output


def page(inside: Kubectl, name: str) -> bytes:
    """Fetch what an Instance of the tree serves, as this machine sees it."""
    spec = inside.get(f"service/{name}")["spec"]
    with urllib.request.urlopen(f"http://{spec['clusterIP']}/cgi-bin/page", timeout=5) as answer:
        return bytes(answer.read())


async def until_page(inside: Kubectl, name: str, expected: bytes) -> None:
    """Wait for a page that begins as expected; without cluster DNS it ends there, too."""
    seen = b""

    async def served() -> bool:
        nonlocal seen
        try:
            seen = page(inside, name)
        except OSError as error:
            seen = str(error).encode()
        return seen.startswith(expected)

    await wait_until(served, lambda: f"the page {expected!r}; last seen: {seen!r}", 150)


async def test_a_tree_of_operators_serves_what_is_handed_down(
    world: World, inside: Kubectl
) -> None:
    await kudo(world, "install", str(PACKAGE), "--instance", "paper", *WAIT)
    await until_page(inside, "paper", b"The Daily Pod\n")
    await until_page(
        inside, "paper-newsroom", b"News from Berlin, for paper\n- politics\n- sport\n"
    )
    await until_page(inside, "paper-newsroom-weather", b"The sun shines on Berlin.\n")

    await kudo(world, "update", "--instance", "paper", "-p", "city=Paris", *WAIT)
    await until_page(inside, "paper-newsroom-weather", b"The sun shines on Paris.\n")

    await kudo(world, "uninstall", "--instance", "paper", *WAIT)
    for name in TREE:
        await world.until_gone(INSTANCES, name)


async def test_a_container_that_fails_in_a_child_fails_the_parent(world: World) -> None:
    failing: Json = job("failing", ["sh", "-c", "exit 3"])
    await children.install(
        world, children.parent(), children.child(settings=build.template(failing))
    )

    failed = await world.until_failed("i")

    assert (
        f"instance {world.namespace}/{children.CHILD} plan deploy ended with FATAL_ERROR: "
        in instances.messages(failed, "deploy")
    )
    assert 'job "failing" has failed terminally' in instances.messages(failed, "deploy")


async def test_diagnostics_have_the_logs_of_a_container_that_failed_in_a_child(
    world: World, tmp_path: Path
) -> None:
    failing: Json = job("failing", ["sh", "-c", "echo password=hunter2; echo last words; exit 3"])
    await children.install(
        world, children.parent(), children.child(settings=build.template(failing))
    )
    await world.until_failed("i")

    kubeconfig = world.installation.cluster.kubeconfig("admin")
    target = tmp_path / "diag"
    await kudo(
        world,
        *("diagnostics", "collect", "--instance", "i", "-O", str(target)),
        f"--kubeconfig={kubeconfig}",
    )

    (log,) = target.rglob("main.log.gz")
    lines = gzip.decompress(log.read_bytes()).decode().splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["password=(redacted)", "last words"]
    summary = (target / "SUMMARY.txt").read_text()
    assert "container main ended with Error (3)" in summary
    assert "last words" in summary


async def test_what_is_changed_by_hand_in_a_child_is_put_back(world: World) -> None:
    size = build.config_map("{{ .Name }}", size="{{ .Params.SIZE }}")
    slow = server("slow", "hello")
    slow["spec"]["containers"][0]["readinessProbe"]["initialDelaySeconds"] = 8
    await children.install(
        world, children.parent(), children.child(settings=build.template(size, slow))
    )
    await children.until_runs(world, children.CHILD)

    await world.patch(children.CHILD, {"parameters": {"SIZE": "by hand"}})
    await world.until_complete("i")

    assert (await world.instance(children.CHILD))["spec"]["parameters"] == {"SIZE": "1"}
