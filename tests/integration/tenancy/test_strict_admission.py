"""Strict admission on the real API server: OperatorVersions, and references to other namespaces."""

import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from string import Template

import pytest
import yaml

import kudo_cluster.installation
from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.changes import as_admin
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import INSTANCES, VERSIONS
from tests.support.cluster.world import World

EXAMPLES = Path(__file__).parents[3] / "examples"
PACKAGES = sorted(file.parent for file in EXAMPLES.rglob("operator.yaml"))
STRICT = Path(kudo_cluster.installation.__file__).with_name("webhooks-strict.yaml")
ANSWER_SECONDS = 10.0
"""`timeoutSeconds` of the configuration."""


@pytest.fixture(scope="module")
def strict_webhook(cluster: Cluster, running_installation: Installation) -> Iterator[None]:
    """Run the webhook in strict mode; the reconciler is as it was."""
    kubectl = Kubectl(cluster, cluster.directory / "kubectl-cache")
    webhook = running_installation.webhook
    started = replace(webhook, command=[*webhook.command, "--tenancy=strict"], process=None)
    webhook.stop()
    try:
        started.start()
        running_installation.webhook = started
        kubectl("apply", "--server-side", "-f", "-", stdin=configuration(running_installation))
        yield
    finally:
        kubectl("delete", "--ignore-not-found", "-f", str(STRICT))
        started.stop()
        running_installation.webhook = webhook
        webhook.start()


@pytest.fixture
def strict(strict_webhook: None, world: World) -> World:
    return world


def configuration(installation: Installation) -> str:
    """Return the configuration of strict mode, for the address of the running webhook."""
    known = next(iter(yaml.safe_load_all(installation.configurations)))
    config = known["webhooks"][0]["clientConfig"]
    url = config["url"].rpartition("/")[0]
    return Template(STRICT.read_text()).substitute(URL=url, CA_BUNDLE=config["caBundle"])


@pytest.fixture
async def owner(world: World) -> AsyncIterator[str]:
    """Yield another namespace, in which the user of the world may do nothing."""
    name = f"{world.namespace}-owner"
    await as_admin(world, "create", "namespace", name)
    yield name
    await as_admin(world, "delete", "namespace", name, "--wait=false")


def version(name: str = "ours-1", template: str = "") -> Json:
    text = template or build.template(build.config_map("all"))
    return build.operator_version(
        name, templates={"all.yaml": text}, plans={"deploy": build.plan({"all": ["all"]})}
    )


async def test_a_broken_operator_version_is_not_stored(strict: World) -> None:
    denied = await strict.apply(version(template="{{ .Name"))
    assert denied.code != 0
    assert "spec.templates[all.yaml]" in denied.output or "unclosed action" in denied.output
    assert "validate.operatorversion-admission.kudo.dev" in denied.output
    assert await strict.find(VERSIONS, "ours-1") is None


async def test_a_stored_one_keeps_its_spec_and_nothing_else(strict: World) -> None:
    assert (await strict.apply(version())).code == 0
    again = await strict.apply(version())
    changed = await strict.apply(version(template="a: b"))
    kind = "operatorversions.kudo.dev"
    held = '{"metadata":{"finalizers":["kudo.dev/test"],"labels":{"a":"b"}}}'
    labelled = await strict.kubectl("patch", kind, "ours-1", "--type=merge", "-p", held)
    deleted = await strict.kubectl("delete", kind, "ours-1", "--wait=false")
    leaving = await strict.kubectl(
        "patch", kind, "ours-1", "--type=merge", "-p", '{"spec":{"version":"9"}}'
    )
    freed = await strict.kubectl(
        "patch", kind, "ours-1", "--type=merge", "-p", '{"metadata":{"finalizers":null}}'
    )

    assert [done.code for done in (again, labelled, deleted, freed)] == [0, 0, 0, 0]
    for refused in (changed, leaving):
        assert refused.code != 0
        assert "its spec cannot be changed" in refused.output
    await strict.until_gone(VERSIONS, "ours-1")


@pytest.mark.parametrize("text", ["{{.a}}" * 15_000, "{{range .a}}{{.b}}{{end}}" * 3_700])
async def test_as_many_templates_as_fit_are_answered_in_time(strict: World, text: str) -> None:
    large = version()
    large["spec"]["templates"] = {f"t{n}": text for n in range(13)}
    large["spec"]["tasks"][0]["spec"]["resources"] = [*large["spec"]["templates"]]
    began = time.monotonic()
    answered = await strict.kubectl("create", "-f", "-", text=yaml.safe_dump(large))
    # That of kubectl and of the API server is in it.
    assert time.monotonic() - began < 2 * ANSWER_SECONDS
    assert answered.code == 0 or "limit" in answered.output or "too large" in answered.output


async def test_every_example_can_be_installed(strict: World) -> None:
    for folder in PACKAGES:
        done = await strict.kudo("install", str(folder), "--skip-instance")
        assert done.code == 0, done.output


async def test_another_namespace_is_used_with_its_grant_only(strict: World, owner: str) -> None:
    found = version("theirs-1")
    found["metadata"]["namespace"] = owner
    await as_admin(strict, "create", "-n", owner, "-f", "-", text=yaml.safe_dump(found))
    instance = build.instance("i", "theirs-1")
    instance["spec"]["operatorVersion"]["namespace"] = owner
    missing = build.instance("i", "nowhere-1")
    missing["spec"]["operatorVersion"]["namespace"] = owner

    denials = [(await strict.apply(one)).output for one in (instance, missing)]
    for text in denials:
        assert "does not exist or is not granted to namespace" in text
        assert f"kudo.dev/allow-from: {strict.namespace}" in text
    assert denials[0].replace("theirs-1", "nowhere-1") == denials[1]
    assert await strict.find(INSTANCES, "i") is None

    grant = f"kudo.dev/allow-from={strict.namespace}"
    kind = "operatorversions.kudo.dev"
    await as_admin(strict, "annotate", kind, "theirs-1", "-n", owner, grant)
    assert (await strict.apply(instance)).code == 0
    await strict.until_complete("i")

    await as_admin(strict, "annotate", kind, "theirs-1", "-n", owner, "kudo.dev/allow-from-")
    await strict.patch("i", {"suspend": True})
    await strict.patch("i", {"suspend": None})
    again = await strict.kubectl(
        "patch", "instances.kudo.dev", "i", "--type=merge",
        "-p", '{"spec":{"planExecution":{"planName":"deploy"}}}',
    )  # fmt: skip
    assert again.code != 0
    assert "is not granted" in again.output
    deleted = await strict.kubectl("delete", "instances.kudo.dev", "i")
    assert deleted.code == 0
