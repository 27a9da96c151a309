"""A release on a real node: both services start from our images, and operators come and go."""

from collections.abc import Callable

import pytest

from tests.e2e.chart.conftest import IMAGES
from tests.e2e.chart.release import COMPONENTS, Release
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.world import World
from tools.images.archive import measure
from tools.images.version import ROOT

EXAMPLES = ("first-operator", "lifecycle/v1", "pipe-page", "parent-child")
WAIT = ("--wait", "--wait-time", "150s")
_MEGABYTE = 1e6


async def kudo(world: World, *arguments: str) -> None:
    done = await world.kudo(*arguments)
    assert done.code == 0, done.output


def test_both_services_run_as_restricted_pods_and_answer_for_themselves(release: Release) -> None:
    for component in COMPONENTS:
        assert len(release.pods(component)) == 2
        for series in release.metrics(component):
            assert series["process_resident_memory_bytes"] > 0
    assert sum(series["kudo_leader"] for series in release.metrics("reconciler")) == 1


def test_helm_test_finds_nothing_wrong(release: Release) -> None:
    assert "Phase:          Succeeded" in release.test()


@pytest.mark.parametrize("example", EXAMPLES)
async def test_an_example_is_installed_to_the_end_and_goes_again(
    world: World, inside: Kubectl, example: str
) -> None:
    # The API server asks the webhook in the cluster about each of these writes.
    await kudo(world, "install", str(ROOT / "examples" / example), "--instance", "it", *WAIT)
    await world.until_complete("it")
    phases = {pod["status"]["phase"] for pod in inside.get("pods")["items"]}
    assert phases <= {"Running", "Succeeded"}
    assert phases

    await kudo(world, "uninstall", "--instance", "it", *WAIT)
    await world.until_gone(INSTANCES, "it")


async def test_a_change_that_breaks_a_rule_is_refused_by_the_webhook_in_the_cluster(
    world: World,
) -> None:
    package = str(ROOT / "examples" / "first-operator")
    await kudo(world, "install", package, "--instance", "it", *WAIT)

    refused = await world.kubectl(
        "patch", "instances.kudo.dev", "it", "--type=merge",
        '--patch={"spec":{"parameters":{"no-such-parameter":"x"}}}',
    )  # fmt: skip

    assert refused.code == 1
    assert 'admission webhook "mutate.instance-admission.kudo.dev" denied' in refused.output


def test_images_are_small_and_start_fast(figure: Callable[[str], None]) -> None:
    for path in IMAGES.values():
        figures = measure(path)
        figure(f"image {figures}")
        assert figures.megabytes < 400


def test_services_at_rest_need_little_memory(
    release: Release, figure: Callable[[str], None]
) -> None:
    for component in COMPONENTS:
        used = [
            series["process_resident_memory_bytes"] + series["kudo_worker_resident_memory_bytes"]
            for series in release.metrics(component)
        ]
        sizes = ", ".join(f"{size / _MEGABYTE:.0f} MB" for size in used)
        figure(f"memory of each {component} with its workers at rest: {sizes}")
        [container] = release.pods(component)[0]["spec"]["containers"]
        limit = container["resources"]["limits"]["memory"]
        assert max(used) < 0.75 * int(limit.removesuffix("Mi")) * 2**20
