"""Every example runs in strict mode with exactly the rights that `kubectl kudo rbac` prints."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kudo_cluster.installation import Installation
from tests.integration.tenancy.admin import as_admin
from tests.support import instances
from tests.support.cluster.clients import client_of, new_namespace
from tests.support.cluster.world import World
from tests.support.prefork import Prefork

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
REAL = {"galera", "pipe-page"}
"""Their pods must really run."""
FOUND = sorted(str(file.parent.relative_to(EXAMPLES)) for file in EXAMPLES.rglob("operator.yaml"))
PACKAGES = [name for name in FOUND if name not in REAL and "/child" not in name]
"""The children come with `parent-child`."""
WAIT = ("--wait", "--wait-time", "90s")


@pytest.fixture
async def tenant(strict_installation: Installation, programs: Prefork) -> AsyncIterator[World]:
    """Yield a namespace whose accounts the reconciler may act as."""
    cluster = strict_installation.cluster
    async with client_of(cluster.kubeconfig("user")) as client:
        namespace = await new_namespace(client)
        strict_installation.allow_tenant(namespace)
        services = (strict_installation.reconciler,)
        yield World(strict_installation, client, namespace, programs, services)


async def grant(world: World, package: str) -> None:
    """Give the account `book` what `rbac` prints for a package, and nothing else."""
    folder = str(EXAMPLES / package)
    argv = ("rbac", folder, "--instance-name", "book", "--service-account", "book")
    printed = await world.kudo(*argv)
    assert printed.code == 0, printed.output
    applied = await as_admin(world, "kubectl", "apply", "-f", "-", text=printed.stdout)
    assert applied.code == 0, applied.output


@pytest.mark.parametrize("package", PACKAGES)
async def test_an_example_comes_and_goes_with_the_printed_rights(
    tenant: World, package: str
) -> None:
    await grant(tenant, package)
    folder, named = str(EXAMPLES / package), ("--instance", "book")
    done = await tenant.kudo("install", folder, *named, "--service-account", "book", *WAIT)
    assert done.code == 0, done.output
    instance = await tenant.until_complete("book")
    assert instance["status"]["lastRun"]["serviceAccountName"] == "book"
    asked = await as_admin(tenant, "kudo", "rbac", *named, "--check", "-o", "json")
    (found,) = json.loads(asked.stdout)
    # The reconciler of a local cluster is a user, and no account in kudo-system.
    assert [text for text in found["lacks"] if not text.startswith("impersonation")] == []
    done = await tenant.kudo("uninstall", *named, *WAIT)
    assert done.code == 0, done.output


async def test_a_plan_waits_for_a_right_and_names_it(tenant: World) -> None:
    await grant(tenant, "first-operator")
    role = ("patch", "role", "kudo-book", "--type=json")
    taken = await as_admin(
        tenant, "kubectl", *role, "-p", '[{"op": "replace", "path": "/rules", "value": []}]'
    )
    assert taken.code == 0, taken.output
    folder = str(EXAMPLES / "first-operator")
    done = await tenant.kudo("install", folder, "--instance", "book", "--service-account", "book")
    assert done.code == 0, done.output
    account = f"system:serviceaccount:{tenant.namespace}:book"
    await tenant.until(
        "book",
        lambda one: account in json.dumps(one.get("status") or {}),
        "a message that names the account",
    )
    await grant(tenant, "first-operator")
    instance = await tenant.until_complete("book")
    assert set(instances.steps(instance, "deploy").values()) == {"COMPLETE"}
