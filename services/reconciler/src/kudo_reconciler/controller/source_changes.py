"""Finds Secrets that have another value than the one in force, for `onChange: run`.

Only Instances with such a parameter are looked at, while they are idle: the metadata of the Secret
is read by name about once a minute, as the account of the Instance. Its content is read if the
resourceVersion is another one. What cannot be read is looked at again a minute later: a Secret that
is gone starts no run.
"""

import logging
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kubeio.errors import KubeError
from kubeio.leader_election.elector import NotLeading
from kubeio.resource import SECRETS
from kudo.api import ExecutionStatus, Instance, LastRun, OperatorVersion, Reference, SourceRecord
from kudo.api.task_kinds import TaskError
from kudo.parameters.definitions import RUN_ON_CHANGE
from kudo.plans.runs.last_run import in_force
from kudo.plans.runs.plan_choice import plan_for_parameters
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.keys import Key, key_of
from kudo_reconciler.controller.parameter_sources import ParameterSources
from kudo_reconciler.execution.operations import Operations, StillGoing
from workers import WorkerError

log = logging.getLogger(__name__)

FIND_CHANGES: Final = "source changes"
"""Name of an operation, of which an Instance has one at a time."""
_SECONDS: Final = 60.0
_JITTER: Final = 0.2
_SOON_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class SourceChange:
    """What was found.

    Attributes:
        plan: The plan that brings another value into force; empty if there is none.
        look_again: Seconds until the Instance is to be looked at again; None if it need not.
    """

    plan: str = ""
    look_again: float | None = None


_NOTHING: Final = SourceChange()
_Watched = Mapping[str, tuple[Reference, SourceRecord]]


@dataclass(slots=True)
class _Looked:
    """What is known of the Secrets of an Instance.

    Attributes:
        uids: Of the Instance and of its last run.
        due: Time of the event loop's clock from which on they are looked at again.
        same: resourceVersions of those whose value is the one in force, by parameter.
    """

    uids: tuple[str, str]
    due: float
    same: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceChanges:
    """Looks at Secrets for idle Instances."""

    sources: ParameterSources
    operations: Operations
    rng: random.Random
    _looked: dict[Key, _Looked] = field(default_factory=dict)

    async def forget(self, key: Key) -> None:
        """Forget an Instance that does not exist any more, or runs a plan."""
        self._looked.pop(key, None)
        await self.operations.forget(key, FIND_CHANGES)

    async def of(self, instance: Instance, version: OperatorVersion) -> SourceChange:
        """Return the plan that the value of a Secret needs which is not in force.

        Args:
            instance: An idle Instance that nothing else is to run for.
            version: Its OperatorVersion, which is in force.

        Raises:
            NotLeading: this replica is not the leader any more.
        """
        key, last, watched = key_of(instance), in_force(instance), _watched(instance, version)
        if not watched or last is None or instance.suspended or instance.metadata.deleting:
            if key in self._looked:
                await self.forget(key)
            return _NOTHING
        uids, now = (instance.metadata.uid, last.uid or ""), loop_seconds()
        looked = self._looked.get(key)
        if looked is None or looked.uids != uids:
            # Somewhere in the next minute: after a start there may be thousands of Instances.
            looked = self._looked[key] = _Looked(uids, now + self.rng.random() * _SECONDS)
        if now < looked.due:
            return SourceChange(look_again=looked.due - now)
        token = (*uids, looked.due)
        try:
            changed = await self.operations.result(
                key, FIND_CHANGES, token, lambda: self._changed(instance, version, watched, looked)
            )
        except StillGoing:
            return SourceChange(look_again=_SOON_SECONDS)
        except NotLeading:
            raise
        except (KubeError, TaskError, WorkerError) as error:
            log.info("sources not read", extra={"error": type(error).__name__})
            changed = ""
        looked.due = loop_seconds() + _SECONDS * (1 + _JITTER * (2 * self.rng.random() - 1))
        plan = plan_for_parameters(version, [changed]).plan if changed else None
        return SourceChange(plan or "", _SECONDS)

    async def _changed(
        self, instance: Instance, version: OperatorVersion, watched: _Watched, looked: _Looked
    ) -> str:
        """Return a parameter whose Secret has another value; empty if there is none."""
        account = await self.sources.accounts.name_of(instance)
        client = await self.sources.accounts.acting(instance, account)
        versions: dict[str, str] = {}
        for name, (reference, record) in watched.items():
            # One after the other: nobody waits for them.
            obj = await client.get(
                SECRETS,
                reference.name,
                namespace=instance.metadata.namespace,
                metadata_only=True,
            )
            known = looked.same.get(name, record.resource_version)
            if obj["metadata"]["resourceVersion"] != known:
                versions[name] = str(obj["metadata"]["resourceVersion"])
        if not versions:
            return ""
        last = instance.status.last_run
        read = (await self.sources.read(instance, version, account)).sources.secrets
        for name in sorted(versions):
            if name in read and last is not None:
                if _is_due(last, watched[name][1], read[name]):
                    return name
                looked.same[name] = read[name].resource_version or ""
        return ""


def _watched(instance: Instance, version: OperatorVersion) -> _Watched:
    """Return the secret parameters whose change runs a plan, with what the last run has read."""
    if not instance.sources:
        return {}
    last, declared = instance.status.last_run, version.declared
    records = (last.secrets if last is not None else None) or {}
    return {
        source.name: (source.reference, records[source.name])
        for source in instance.sources
        if source.secret_key_ref is not None
        and source.name in records
        and (parameter := declared.get(source.name)) is not None
        and parameter.secret
        and parameter.on_change == RUN_ON_CHANGE
    }


def _is_due(last: LastRun, record: SourceRecord, read: SourceRecord) -> bool:
    """Return whether a value is to be brought into force now.

    Nothing follows a failed run by itself: not for a value that it began with.
    """
    if read.digest == record.digest:
        return False
    return last.status != ExecutionStatus.FATAL_ERROR or read.digest != record.began_with
