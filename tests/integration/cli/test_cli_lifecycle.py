"""Upgrades, and what can be seen and done about runs, through `kubectl kudo` on a real cluster."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.commands import Done
from tests.support.cluster.resources import CONFIG_MAPS, VERSIONS
from tests.support.cluster.world import World
from tests.support.terminals.terminal import on_terminal

pytestmark = pytest.mark.smoke

PLANS = {
    "deploy": build.plan({"app": ["app"]}),
    "extra": build.plan({"app": ["app"]}),
    "stuck": build.plan({"app": ["stuck"]}),
    "broken": build.plan({"app": ["broken"]}),
}
PARAMETERS = [build.parameter("SIZE", "1"), build.parameter("EXTRA", "1", trigger="extra")]

# Where `package verify` does not see it.
BROKEN = "{{ if eq .PlanName `broken` }}Not A Name{{ else }}broken{{ end }}"


def shop(folder: Path, version: str, *parameters: Json, **operator: Any) -> Path:
    """Write the package of a small operator, and return its folder."""
    declared = [*PARAMETERS, *parameters]
    data = {p["name"]: f"{{{{ .Params.{p['name']} }}}}" for p in declared}
    templates = {
        "app": build.template(build.config_map("app", version="{{ .OperatorVersion }}", **data)),
        "stuck": build.template(build.deployment("stuck", ready_delay="1h")),
        "broken": build.template(build.config_map(BROKEN)),
    }
    fields = {
        "name": "shop",
        "operatorVersion": version,
        "kubernetesVersion": "1.25.0",
        "tasks": [
            {"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}}
            for name in templates
        ],
        "plans": PLANS,
        **operator,
    }
    package = folder / f"{fields['name']}-{version}-{fields.get('appVersion', '')}"
    (package / "templates").mkdir(parents=True)
    (package / "operator.yaml").write_text(json.dumps(fields), encoding="utf-8")
    (package / "params.yaml").write_text(json.dumps({"parameters": declared}), encoding="utf-8")
    for name, text in templates.items():
        (package / "templates" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return package


@pytest.fixture
async def installed(world: World, tmp_path: Path) -> World:
    """Return a namespace with an instance `web` of version 0.1.0."""
    package = shop(tmp_path, "0.1.0")
    verified = await world.kudo("package", "verify", str(package))
    assert verified.stdout == "package is valid\n", verified.output
    done = await world.kudo("install", str(package), "--instance", "web", "--wait")
    assert done.code == 0, done.output
    return world


async def upgrade(world: World, package: Path, *arguments: str) -> Done:
    return await world.kudo("upgrade", str(package), "--instance", "web", *arguments)


async def names(world: World) -> list[str]:
    return sorted(version["metadata"]["name"] for version in await world.all(VERSIONS))


# upgrade


async def test_upgrade_brings_the_new_version_with_what_is_new_in_it(
    installed: World, tmp_path: Path
) -> None:
    newer = shop(tmp_path, "0.2.0", {"name": "COLOUR", "required": True})

    done = await upgrade(installed, newer, "-p", "COLOUR=red", "--wait")

    assert done.code == 0, done.output
    assert done.stdout.splitlines() == [
        f"operatorversion {installed.namespace}/shop-0.2.0 created",
        f"instance {installed.namespace}/web updated",
        "version: 0.1.0 → 0.2.0",
        "COLOUR: (not set) → red",
        "plan deploy runs",
        f"instance {installed.namespace}/web ready",
    ]
    data = (await installed.get(CONFIG_MAPS, "app"))["data"]
    assert data == {"version": "0.2.0", "SIZE": "1", "EXTRA": "1", "COLOUR": "red"}


async def test_a_newer_app_version_alone_is_an_upgrade(installed: World, tmp_path: Path) -> None:
    done = await upgrade(installed, shop(tmp_path, "0.1.0", appVersion="2.0"), "--wait")

    assert done.code == 0, done.output
    assert (await installed.instance("web"))["spec"]["operatorVersion"]["name"] == "shop-2.0-0.1.0"


async def test_parameters_that_run_another_plan_follow_the_upgrade(
    installed: World, tmp_path: Path
) -> None:
    newer = shop(tmp_path, "0.2.0", build.parameter("COLOUR", "grey"))

    done = await upgrade(installed, newer, "-p", "EXTRA=2", "-p", "COLOUR=red", "--wait")

    assert done.code == 0, done.output
    assert "Instance web was updated." in done.stdout.splitlines()
    after = await installed.instance("web")
    assert (instances.status_of(after, "deploy"), instances.status_of(after, "extra")) == (
        "COMPLETE",
        "COMPLETE",
    )
    data = (await installed.get(CONFIG_MAPS, "app"))["data"]
    assert (data["EXTRA"], data["COLOUR"]) == ("2", "red")


async def test_without_waiting_the_command_says_what_to_send_afterwards(
    installed: World, tmp_path: Path
) -> None:
    done = await upgrade(installed, shop(tmp_path, "0.2.0"), "-p", "EXTRA=two words")
    assert done.code == 0, done.output
    assert "-p 'EXTRA=two words'" in done.stderr
    waited = await installed.kudo("plan", "wait", "--instance", "web")
    assert waited.code == 0, waited.output
    assert "EXTRA" not in (await installed.instance("web"))["spec"]["parameters"]

    sent = await installed.kudo("update", "--instance", "web", "-p", "EXTRA=two words", "--wait")

    assert sent.code == 0, sent.output
    assert (await installed.get(CONFIG_MAPS, "app"))["data"]["EXTRA"] == "two words"


@pytest.mark.parametrize(
    ("version", "added", "operator", "arguments", "words"),
    [
        ("0.0.9", [], {}, [], "upgraded version 0.0.9 is the same or smaller as current version"),
        ("0.2.0", [], {"name": "other"}, [], "runs operator 'shop' and cannot be upgraded"),
        ("0.2.0", [{"name": "NEW"}], {}, [], 'parameter "NEW" is required but has no value set'),
        ("0.2.0", [], {}, ["-p", "NOPE=1"], 'failed to find parameter "NOPE"'),
        ("0.2.0", [], {"kubernetesVersion": "1.999"}, [], "expected kubernetes version of 1.999"),
    ],
)
async def test_an_upgrade_that_cannot_be_leaves_no_trace(
    installed: World,
    tmp_path: Path,
    version: str,
    added: list[Json],
    operator: Json,
    arguments: list[str],
    words: str,
) -> None:
    before = (await installed.instance("web"))["spec"]

    done = await upgrade(installed, shop(tmp_path, version, *added, **operator), *arguments)

    assert done.code in {4, 255}
    assert words in done.stderr
    assert await names(installed) == ["shop-0.1.0"]
    assert (await installed.instance("web"))["spec"] == before


async def test_the_same_version_is_refused(installed: World, tmp_path: Path) -> None:
    done = await upgrade(installed, shop(tmp_path / "again", "0.1.0"))

    assert done.code == 255
    assert "upgraded version 0.1.0 is the same or smaller as current version 0.1.0" in done.stderr


# Runs


async def start(world: World, name: str) -> None:
    done = await world.kudo("plan", "trigger", "--instance", "web", "--name", name)
    assert done.code == 0, done.output


async def start_stuck(world: World) -> None:
    """Run the plan that does not end, and wait until it is being worked on."""
    await start(world, "stuck")
    await world.until("web", lambda i: instances.status_of(i, "stuck") == "IN_PROGRESS", "the run")


async def test_wait_on_a_failing_plan_tells_step_reason_and_events(installed: World) -> None:
    await start(installed, "broken")

    waited = await installed.kudo("plan", "wait", "--instance", "web")
    again = await installed.kudo("plan", "wait", "--instance", "web")

    [event] = [e for e in await installed.events() if "Not A Name" in e["message"]]
    for done in (waited, again):
        assert done.code == 6
        assert "plan broken ended with FATAL_ERROR at broken.phase1.app" in done.stderr
        assert "failed to apply ConfigMap Not A Name of template broken.yaml" in done.stderr
        _, _, events = done.stderr.partition("Warning events of this run:\n")
        assert events.startswith(f"  {event['reason']} (see above)\n")
        assert "failed to apply ConfigMap" not in events


async def test_wait_ends_well_with_a_plan_that_does(installed: World) -> None:
    await start(installed, "extra")

    done = await installed.kudo("plan", "wait", "--instance", "web", "--wait-time", "60")

    assert done.code == 0, done.output
    assert done.stdout == f"plan extra of instance {installed.namespace}/web is COMPLETE\n"
    assert instances.status_of(await installed.instance("web"), "extra") == "COMPLETE"


async def test_history_tells_running_plans_from_ended_ones(installed: World) -> None:
    await start_stuck(installed)

    tree = await installed.kudo("plan", "history", "--instance", "web")
    data = await installed.kudo("plan", "history", "--instance", "web", "-o", "json")

    broken, deploy, extra, stuck = tree.stdout.splitlines()[1:5]
    assert "broken (NEVER_RUN)" in broken
    assert "deploy (last finished run at " in deploy
    assert deploy.endswith("(COMPLETE))")
    assert "extra (NEVER_RUN)" in extra
    assert "stuck (is running (IN_PROGRESS))" in stuck
    assert json.loads(data.stdout)["deploy"]["status"] == "COMPLETE"


async def test_cancel_ends_a_stuck_plan_and_another_one_can_run(installed: World) -> None:
    await start_stuck(installed)

    done = await installed.kudo("plan", "cancel", "--instance", "web", "--wait")

    assert done.code == 0, done.output
    first, second = done.stdout.splitlines()
    assert first == f"Cancelled stuck plan of {installed.namespace}/web instance"
    assert "has ended with FATAL_ERROR: cancelled by " in second
    ended = await installed.until_failed("web", "stuck")
    assert "cancelled by " in instances.messages(ended, "stuck")
    again = await installed.kudo(
        "plan", "trigger", "--instance", "web", "--name", "deploy", "--wait"
    )
    assert again.code == 0, again.output


async def test_waiting_for_a_run_that_is_cancelled_ends_with_an_error(installed: World) -> None:
    await start(installed, "stuck")
    await installed.kudo("plan", "cancel", "--instance", "web")

    waited = await installed.kudo("plan", "wait", "--instance", "web", "--wait-time", "60")

    assert waited.code == 6
    assert "plan stuck ended with FATAL_ERROR" in waited.stderr
    assert "cancelled by" in waited.stderr


async def test_where_nothing_runs_cancel_starts_nothing(installed: World) -> None:
    before = await installed.until_complete("web")

    done = await installed.kudo("plan", "cancel", "--instance", "web")

    assert done.code == 255
    assert f"{installed.namespace}/web runs no plan: there is nothing to cancel" in done.stderr
    assert (await installed.instance("web"))["spec"] == before["spec"]


# update --edit


async def test_what_was_edited_is_sent_and_what_was_removed_has_its_default(
    installed: World, tmp_path: Path
) -> None:
    async def edited(command: str) -> tuple[int, str]:
        editor = {"EDITOR": f"sed -i '{command}'", "KUBE_EDITOR": "", "TMPDIR": str(tmp_path)}
        kubeconfig = installed.installation.cluster.kubeconfig("user")
        where = [f"--kubeconfig={kubeconfig}", f"--namespace={installed.namespace}"]
        words = ["update", "--instance", "web", "--edit", "--yes", "--wait", *where]
        return await asyncio.to_thread(
            at_a_terminal, [sys.executable, "-m", "kubectl_kudo", *words], {**os.environ, **editor}
        )

    code, shown = await edited("s/^#SIZE.*/SIZE: 5/")
    assert code == 0, shown
    assert "SIZE: 1 (default) → 5; plan deploy runs" in shown
    assert (await installed.get(CONFIG_MAPS, "app"))["data"]["SIZE"] == "5"

    code, shown = await edited("/^SIZE/d")
    assert code == 0, shown
    assert "SIZE: 5 → 1 (default); plan deploy runs" in shown
    assert (await installed.get(CONFIG_MAPS, "app"))["data"]["SIZE"] == "1"

    code, shown = await edited("s/^#SIZE.*/NOPE: 1/")
    assert code == 4, shown
    assert "Your file is kept" in shown


def at_a_terminal(argv: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Run a program at a terminal to its end; return its exit code and what it shows."""
    with on_terminal(argv, environment=environment, size=(200, 50)) as terminal:
        shown = ""
        while text := terminal.read():
            shown += text
        return terminal.end(), shown
