"""An Instance of the database, as its administrator sees it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from kubeio.client import Client
from kubeio.resource import Resource
from tests.galera.package import PACKAGE
from tests.galera.volumes import CLASS
from tests.support import instances
from tests.support.build import Json
from tests.support.cluster.commands import Done
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
SERVICES = Resource("", "v1", "Service", "services", namespaced=True)
PLAN_SECONDS = 300.0
_ENDS = {"COMPLETE", "FATAL_ERROR"}


@dataclass(frozen=True)
class Database:
    """An Instance of the package.

    Attributes:
        world: Its namespace, and how its user acts there.
        admin: A client with all rights.
        name: Of the Instance.
    """

    world: World
    admin: Client
    name: str = "db"

    async def kudo(self, *arguments: str) -> Done:
        """Run a command of `kubectl kudo` on the Instance."""
        return await self.world.kudo(*arguments, "--instance", self.name)

    async def install(self, **parameters: str) -> Done:
        """Install the package; a name such as `APP_PASSWORD@secret` refers to a value."""
        values = {"STORAGE_CLASS": CLASS, **parameters}
        return await self.kudo("install", str(PACKAGE), *_flags(values))

    async def update(self, **parameters: str) -> Done:
        """Set parameters."""
        return await self.kudo("update", *_flags(parameters))

    async def trigger(self, plan: str, **parameters: str) -> Done:
        """Start a plan, with parameters of the run."""
        return await self.kudo("plan", "trigger", "--name", plan, *_flags(parameters))

    async def uninstall(self) -> None:
        """Uninstall it, and wait for the end of its plan cleanup."""
        done = await self.kudo("uninstall", "--wait")
        assert done.code == 0, done.output
        await self.until_gone()

    async def until_gone(self) -> None:
        """Wait for the end of its plan cleanup."""

        async def gone() -> bool:
            return await self.world.find(INSTANCES, self.name) is None

        await wait_until(gone, lambda: f"the end of Instance {self.name}", PLAN_SECONDS)

    async def run_id(self, plan: str) -> str:
        """Return the uid of the last run of a plan, empty if there was none."""
        found = await self.world.find(INSTANCES, self.name)
        return str(instances.entry(found, plan).get("uid") or "") if found else ""

    async def until_ended(self, plan: str, after: str, seconds: float = PLAN_SECONDS) -> Json:
        """Wait until a run of a plan has ended, and return the Instance.

        Args:
            plan: Its name.
            after: The uid of the run before it.
            seconds: How long to wait.
        """
        seen: Json = {}

        async def ended() -> bool:
            nonlocal seen
            seen = await self.world.instance(self.name)
            entry = instances.entry(seen, plan)
            new = entry.get("uid", "") != after
            return new and entry.get("status") in _ENDS and instances.idle(seen)

        await wait_until(ended, lambda: f"the end of {plan}: {explain(seen, plan)}", seconds)
        return seen

    async def password(self, key: str = "app") -> str:
        """Return a password of the database."""
        secret = await self.admin.get(
            SECRETS, f"{self.name}-credentials", namespace=self.world.namespace
        )
        return base64.b64decode(secret["data"][key]).decode()

    async def address(self, suffix: str = "") -> str:
        """Return the ClusterIP of its Service, or of the one with a longer name."""
        return str((await self.world.get(SERVICES, self.name + suffix))["spec"]["clusterIP"])


def explain(instance: Json, plan: str) -> str:
    """Return status, steps and messages of a plan in a few lines."""
    status = instances.status_of(instance, plan)
    return f"{status} {instances.steps(instance, plan)} {instances.messages(instance, plan)}"


def _flags(parameters: Mapping[str, str]) -> list[str]:
    return [part for name, value in parameters.items() for part in ("-p", f"{name}={value}")]
