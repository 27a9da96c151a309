"""Writes of `--dry-run`: evaluated by the rules of admission, stored nowhere.

`client`: nothing is sent. The webhook's rules of admission evaluate each write of an Instance
against the objects in the cluster and those that the command would have created before it.

`server`: everything is sent with `dryRun=All`, so the API server and its webhooks evaluate it. They
cannot read an OperatorVersion that is not stored, so Instances of it are evaluated as by `client`.
"""

import copy
from collections.abc import Sequence
from typing import Literal
from uuid import uuid4

from pydantic import ValidationError

from kubectl_kudo.session.errors import CliError, denied
from kubectl_kudo.session.kinds import INSTANCES, OPERATOR_VERSIONS
from kubectl_kudo.session.output import JsonObject, talk, warn
from kubectl_kudo.session.writes import Sent
from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import Resource
from kudo.admission import AdmissionRequest, Decision, Review, VersionKey, Versions, mutate
from kudo.api import OperatorVersion
from kudo.api.problems import InvalidInput, Problem

Operation = Literal["CREATE", "UPDATE"]


class OnClient:
    """Evaluates writes here and sends none.

    Args:
        client: Reads the objects in the cluster; with None there are only those of the command.
    """

    def __init__(self, client: Client | None) -> None:
        self.objects: list[JsonObject] = []
        self._client = client
        self._created: dict[VersionKey, JsonObject] = {}

    async def create(self, kind: Resource, obj: JsonObject) -> JsonObject:
        if kind is OPERATOR_VERSIONS:
            self.remember(obj)
        return await self._written(kind, obj, None)

    async def apply(self, kind: Resource, obj: JsonObject) -> JsonObject:
        return await self._written(kind, obj, None)

    async def replace(self, kind: Resource, obj: JsonObject) -> JsonObject:
        if kind is OPERATOR_VERSIONS:
            self.remember(obj)
        stored = await self._stored(kind, obj["metadata"]["namespace"], obj["metadata"]["name"])
        return await self._written(kind, obj, stored)

    async def merge_patch(
        self, kind: Resource, namespace: str, name: str, patch: JsonObject
    ) -> JsonObject:
        stored = await self._stored(kind, namespace, name)
        return await self._written(kind, merged(stored, patch), stored)

    async def json_patch(
        self, kind: Resource, namespace: str, name: str, operations: Sequence[JsonObject]
    ) -> JsonObject:
        stored = await self._stored(kind, namespace, name)
        return await self._written(kind, patched(stored, operations), stored)

    async def delete(
        self,
        kind: Resource,
        obj: JsonObject,
        *,
        unchanged: bool = False,
    ) -> JsonObject | None:
        """Do nothing: the rules of admission do not cover deletions."""
        del kind, obj, unchanged
        return None

    def remember(self, version: JsonObject) -> None:
        """Evaluate Instances as if this OperatorVersion were in the cluster."""
        metadata = version["metadata"]
        self._created[metadata["namespace"], metadata["name"]] = version

    def remembers(self, instance: JsonObject) -> bool:
        """Return whether an Instance is of an OperatorVersion that is not in the cluster."""
        reference = instance["spec"]["operatorVersion"]
        namespace = reference.get("namespace") or instance["metadata"]["namespace"]
        return (namespace, reference["name"]) in self._created

    async def _stored(self, kind: Resource, namespace: str, name: str) -> JsonObject:
        assert self._client is not None, "without a cluster nothing is stored"
        return await self._client.get(kind, name, namespace=namespace)

    async def _written(
        self, kind: Resource, obj: JsonObject, stored: JsonObject | None
    ) -> JsonObject:
        self.objects.append(obj)
        if kind is not INSTANCES:
            return obj
        # The webhook evaluates the object as it would be stored, and so do its rules here.
        decision = await self._decide(obj, stored)
        for warning in decision.warnings:
            warn(warning)
        if not decision.allowed:
            raise _denied(decision.problems)
        return patched(obj, decision.patch)

    async def _decide(self, obj: JsonObject, stored: JsonObject | None) -> Decision:
        operation: Operation = "UPDATE" if stored else "CREATE"
        metadata = obj["metadata"]
        try:
            request = AdmissionRequest(
                operation, metadata["namespace"], metadata["name"], obj, stored
            )
            review = Review.of(request)
        except InvalidInput as error:
            raise _denied(error.problems) from error
        versions: Versions = {key: await self._version(key) for key in review.references()}
        return mutate(review, versions, fresh_uid=lambda: str(uuid4()))

    async def _version(self, key: VersionKey) -> OperatorVersion | None:
        wire = self._created.get(key)
        namespace, name = key
        if wire is None and self._client is not None and name:
            try:
                wire = await self._client.get(OPERATOR_VERSIONS, name, namespace=namespace)
            except NotFound:
                return None
        try:
            return OperatorVersion.from_wire(wire) if wire else None
        except ValidationError as error:
            text = f"OperatorVersion {namespace}/{name} cannot be read: {error}"
            raise CliError(text) from error


class OnServer(Sent):
    """Sends writes with `dryRun=All`: the API server evaluates them and stores none.

    Args:
        client: The connection.
    """

    def __init__(self, client: Client) -> None:
        super().__init__(client, dry_run=True)
        self._on_client = OnClient(client)
        # One list: they are printed in the order of the writes, whoever evaluated them.
        self._on_client.objects = self.objects

    async def create(self, kind: Resource, obj: JsonObject) -> JsonObject:
        if kind is INSTANCES and self._on_client.remembers(obj):
            _tell_of_local_check(obj)
            return await self._on_client.create(kind, obj)
        made = await super().create(kind, obj)
        if kind is OPERATOR_VERSIONS:
            self._on_client.remember(obj)
        return made

    async def apply(self, kind: Resource, obj: JsonObject) -> JsonObject:
        try:
            return await super().apply(kind, obj)
        except NotFound:
            # The Role of a binding is not stored, so the API server cannot compare its rights.
            return await self._on_client.apply(kind, obj)

    async def merge_patch(
        self, kind: Resource, namespace: str, name: str, patch: JsonObject
    ) -> JsonObject:
        spec = patch.get("spec") or {}
        reference = spec.get("operatorVersion")
        asked = {"metadata": {"namespace": namespace, "name": name}, "spec": spec}
        if reference and self._on_client.remembers(asked):
            _tell_of_local_check(asked)
            return await self._on_client.merge_patch(kind, namespace, name, patch)
        return await super().merge_patch(kind, namespace, name, patch)


def _tell_of_local_check(instance: JsonObject) -> None:
    metadata, version = instance["metadata"], instance["spec"]["operatorVersion"]["name"]
    talk(
        f"operatorversion {metadata['namespace']}/{version} is not in the cluster yet, so the API "
        f"server cannot check instance {metadata['namespace']}/{metadata['name']}; it was checked "
        "locally, by the same rules"
    )


def _denied(problems: Sequence[Problem]) -> CliError:
    """Return the error of a denied request: the reason and the webhook's messages."""
    return denied(problems[0].reason, "\n".join(problem.message for problem in problems))


def merged(target: JsonObject, patch: JsonObject) -> JsonObject:
    """Return the object after an RFC 7386 patch."""
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            before = result.get(key)
            result[key] = merged(before if isinstance(before, dict) else {}, value)
        else:
            result[key] = value
    return result


def patched(target: JsonObject, operations: Sequence[JsonObject]) -> JsonObject:
    """Return the object after the `test` and `add` operations of an RFC 6902 patch.

    Raises:
        CliError: a test fails.
    """
    result = copy.deepcopy(target)
    for operation in operations:
        *path, last = operation["path"].strip("/").split("/")
        parent = result
        for key in path:
            parent = parent.setdefault(key, {})
        if operation["op"] == "add":
            parent[last] = operation["value"]
        elif parent.get(last) != operation["value"]:
            name = target["metadata"]["name"]
            raise CliError(f"instance {name} changed meanwhile; try again")
    return result
