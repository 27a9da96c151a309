"""Examples of a `--help` that need more than an API server: rights, and processes that they start.

All others run in `tests/unit/cli/completion`, over the API server in memory. A shell runs them, in
a namespace of a real API server.
"""

from pathlib import Path

import pytest

from tests.support.cluster.shell import Shell
from tests.support.cluster.world import World
from tests.support.examples import examples

SERVE = "repo serve dist"
ACCOUNT = "install ./web --instance web --create-service-account --wait"
TEST = "test ./web --report xml --artifacts-dir results"
OTHER_TESTS = ("test ./web", "test ./web --test install --timeout 2m")


@pytest.fixture
async def shell(world: World, tmp_path: Path) -> Shell:
    """Return a shell in a folder with a new package `web` and a case that installs it."""
    # Only an administrator may bind roles.
    shell = Shell(world, tmp_path, "admin")
    await shell.run("kubectl kudo package new web --folder web")
    return shell


async def test_the_account_of_an_example_may_do_what_its_plans_need(shell: Shell) -> None:
    # The reconciler of a local cluster is a user; plans of this example act as an account.
    await shell.run(
        "kubectl create rolebinding kudo-impersonator --clusterrole=kudo-impersonator "
        "--user=kudo-reconciler"
    )

    await shell.run(f"kubectl kudo {ACCOUNT}")


@pytest.mark.parametrize(
    "example", [TEST, *(pytest.param(line, marks=pytest.mark.campaign) for line in OTHER_TESTS)]
)
async def test_an_example_of_test_runs(shell: Shell, example: str) -> None:
    shown = await shell.run(f"kubectl kudo {example}")

    assert "1 case passed" in shown or "The case passed" in shown


async def test_the_example_of_serve_serves(shell: Shell) -> None:
    await shell.run("mkdir dist && kubectl kudo package create ./web -d dist")

    async with shell.running(f"kubectl kudo {SERVE}") as first:
        assert "http://127.0.0.1" in first


def test_these_are_examples_still() -> None:
    assert {SERVE, ACCOUNT, TEST, *OTHER_TESTS} <= {*examples("install", "repo", "test")}
