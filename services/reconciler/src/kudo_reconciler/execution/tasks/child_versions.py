"""Reads the OperatorVersions of a tree of Instances before any object of the tree is sent."""

from dataclasses import dataclass

from kubeio.names import is_subdomain
from kudo.api import OperatorVersion
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.kudo_operator import VersionKey, check_dependencies, dependencies_of
from kudo_reconciler.store.versions import VersionStore, VersionTooLarge


@dataclass(frozen=True, slots=True)
class ChildVersions:
    """Finds the OperatorVersions that the KudoOperator tasks of a plan need.

    They are read with the reconciler's own identity, like all OperatorVersions: their cache is
    shared by all tenants.
    """

    versions: VersionStore

    async def tree(
        self, version: OperatorVersion, plan: str
    ) -> dict[VersionKey, OperatorVersion | None]:
        """Return every OperatorVersion that the children of a plan need, and their children.

        Raises:
            FatalTaskError: one is missing, too large to be read, or part of a dependency cycle.
            KubeError: a request failed.
        """
        found: dict[VersionKey, OperatorVersion | None] = {}
        waiting = [*dependencies_of(version, plan)]
        while waiting:
            key = waiting.pop().version
            if key not in found:
                found[key] = below = await self.find(key)
                waiting += () if below is None else dependencies_of(below)
        check_dependencies(version, plan, found)
        return found

    async def find(self, key: VersionKey) -> OperatorVersion | None:
        """Return an OperatorVersion; None if there is none.

        Raises:
            FatalTaskError: it is too large to be read.
            KubeError: a request failed.
        """
        try:
            return await self.versions.get(key) if is_subdomain(key[1]) else None
        except VersionTooLarge as error:
            raise FatalTaskError("InvalidOperatorVersion", str(error)) from error
