"""Creates the objects of packages and their Namespace, and deletes them if that fails half-way."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from goyaml import YamlError, load
from kubectl_kudo.packages.install_set import InstallSet
from kubectl_kudo.packages.installed import Existing, check_same
from kubectl_kudo.session.errors import CliError, describe
from kubectl_kudo.session.kinds import INSTANCES, OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.session.session import Session
from kubeio.errors import AlreadyExists, ApiError, Conflict, Forbidden, KubeError, NotFound
from kubeio.resource import NAMESPACES, Resource
from kudo.api import OperatorVersion
from kudo.api.problems import InvalidInput
from kudo.api.task_kinds import FatalTaskError
from kudo.packages.convert import PackageObjects
from kudo.packages.model import Package
from kudo.parameters.settings import Settings, plain_values
from kudo.parameters.template import template_values
from kudo.tasks.rendering import render_named


async def check_new(session: Session) -> None:
    """Check that the namespace does not exist.

    Raises:
        CliError: it exists.
    """
    # Who may not read it is told by the API server when it is created.
    if await namespace_exists(session):
        raise CliError(
            f'namespaces "{session.namespace}" already exists; leave out --create-namespace'
        )


async def namespace_exists(session: Session) -> bool:
    """Return whether the namespace exists; False if the user may not know."""
    try:
        await session.client.get(NAMESPACES, session.namespace)
    except (NotFound, Forbidden):
        return False
    return True


def new_namespace(
    package: Package, objects: PackageObjects, name: str, instance: str, values: Settings
) -> JsonObject:
    """Return the Namespace to create.

    Args:
        package: The package; its `namespaceManifest` gives labels and annotations.
        objects: The objects of the package.
        name: Name of the Namespace.
        instance: Name of the Instance, for the template.
        values: Parameters that are set; the template has the defaults of the others as well.

    Raises:
        CliError: the manifest cannot be rendered, or is no object.
    """
    file = package.operator.namespace_manifest
    given = _rendered(package, objects.operator_version, name, instance, values) if file else {}
    metadata = given.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise CliError(f'namespace manifest "{file}": metadata must be a mapping')
    annotations = {**(metadata.get("annotations") or {}), "created-by": "kudo-cli"}
    kept = {key: value for key, value in metadata.items() if key != "namespace"}
    return {
        **given,
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {**kept, "name": name, "annotations": annotations},
    }


def _rendered(
    package: Package,
    version: OperatorVersion,
    namespace: str,
    instance: str,
    values: Settings,
) -> JsonObject:
    file, operator = package.operator.namespace_manifest, package.operator
    try:
        text = render_named(
            file,
            package.templates,
            {
                "Name": instance,
                "Namespace": namespace,
                "OperatorName": operator.name,
                "OperatorVersion": operator.operator_version,
                "AppVersion": operator.app_version,
                "Params": template_values(version.parameters, plain_values(values)),
            },
        )
        document = load(text)
    except (FatalTaskError, InvalidInput, YamlError) as error:
        raise CliError(f'failed to render namespace manifest "{file}": {error}') from error
    if not isinstance(document, dict):
        raise CliError(f'namespace manifest "{file}" is no object')
    return document


class Installation:
    """One call of `install` or `upgrade`, after all checks.

    Args:
        session: The connection.
        install_set: The objects of the package and its dependencies.
        existing: Those that exist already.
        namespace: The Namespace to create before them; None if it exists.
    """

    def __init__(
        self,
        session: Session,
        install_set: InstallSet,
        existing: Existing,
        *,
        namespace: JsonObject | None = None,
    ) -> None:
        self._new_namespace = namespace
        self._client = session.client
        self._writes = session.writes
        self._report = session.report
        self._namespace = session.namespace
        self._install_set = install_set
        self._existing = existing
        self._created: list[tuple[Resource, JsonObject]] = []
        self._replaced: list[tuple[JsonObject, JsonObject]] = []

    @property
    def created(self) -> list[str]:
        """Return the objects that this call created, as result lines name them."""
        return [described(kind, made) for kind, made in self._created]

    async def run(self, then: Callable[[], Awaitable[JsonObject]] | None) -> JsonObject | None:
        """Create the missing objects, then write the Instance and return it.

        Args:
            then: Writes the Instance; None if there is none to write.

        Raises:
            CliError: a write was rejected; the text has the reason, and what was deleted again.
            CancelledError: after ctrl-C nothing is deleted; a text says what was created.
        """
        try:
            await self._create_missing()
            instance = await then() if then else None
        except (CliError, ApiError) as error:
            raise CliError(f"{describe(error)}{await self._roll_back()}") from error
        except asyncio.CancelledError:
            # Deleting takes requests, and who pressed ctrl-C wants the prompt back.
            if self._created and not self._report.dry:
                names = ", ".join(self.created)
                talk(
                    f"\nInterrupted. Created before: {names}. Repeat the command to go on, or "
                    "remove what nobody uses: kubectl kudo uninstall --all-unused -n "
                    f"{self._namespace}"
                )
            raise
        # After the Instance: a description is not worth the roll-back of an installation.
        for objects in self._install_set.all:
            await self._update_operator(objects)
        return instance

    async def _create_missing(self) -> None:
        if self._new_namespace is not None:
            await self._create(NAMESPACES, self._new_namespace)
        for kind, obj in self._install_set.in_order():
            there = self._existing.get(kind, obj["metadata"]["name"])
            if there is None:
                await self._create(kind, obj)
            elif kind is OPERATOR_VERSIONS and obj["metadata"]["name"] in self._existing.replaced:
                await self._replace(there, obj)

    async def _replace(self, there: JsonObject, obj: JsonObject) -> None:
        # With the resourceVersion that was read: what others changed meanwhile is not overwritten.
        desired = {**there, "spec": obj["spec"]}
        try:
            made = await self._writes.replace(OPERATOR_VERSIONS, desired)
        except Conflict as error:
            text = f"{described(OPERATOR_VERSIONS, obj)} changed meanwhile; try again"
            raise CliError(text) from error
        except ApiError as error:
            text = f"failed to replace {described(OPERATOR_VERSIONS, obj)}: {describe(error)}"
            raise CliError(text) from error
        self._replaced.append((there, made))
        self._report.done(f"{described(OPERATOR_VERSIONS, made)} replaced")

    async def _create(self, kind: Resource, obj: JsonObject) -> None:
        try:
            made = await self._writes.create(kind, obj)
        except AlreadyExists:
            # Another client was faster: what it created is taken if it is the same. Operators
            # are not compared, since every version of an operator may describe it anew.
            if kind is OPERATOR_VERSIONS:
                name = obj["metadata"]["name"]
                there = await self._client.get(kind, name, namespace=self._namespace)
                versions = (objects.operator_version for objects in self._install_set.all)
                check_same(there, next(v for v in versions if v.metadata.name == name))
                self._report.say(f"{described(kind, obj)} already installed")
        except ApiError as error:
            text = f"failed to create {described(kind, obj)}: {describe(error)}"
            raise CliError(text) from error
        else:
            self._created.append((kind, made))
            self._report.done(f"{described(kind, made)} created")

    def _created_versions(self) -> set[str]:
        return {
            made["metadata"]["name"] for kind, made in self._created if kind is OPERATOR_VERSIONS
        }

    async def _roll_back(self) -> str:
        """Undo what this call did, unless an Instance uses it; return a text about it."""
        if self._report.dry:
            return ""
        texts = []
        # `made` has the resourceVersion of our write: what changed since then is not restored.
        for before, made in reversed(self._replaced):
            name = described(OPERATOR_VERSIONS, made)
            try:
                await self._client.replace(OPERATOR_VERSIONS, {**made, "spec": before["spec"]})
            except KubeError as error:
                texts.append(f"\n{name} could not be restored: {describe(error)}")
            else:
                texts.append(f"\nRestored: {name}.")
        return "".join([*texts, await self._delete_created()])

    async def _delete_created(self) -> str:
        """Delete what this call created, unless an Instance uses it; return a text about it."""
        if not self._created:
            return ""
        try:
            # The Instance may be stored although its write failed: the answer got lost.
            versions = self._created_versions()
            instances = await self._client.list(INSTANCES, namespace=self._namespace)
            users = [
                f"instance {obj['metadata']['name']}"
                for obj in instances.items
                if (obj["spec"].get("operatorVersion") or {}).get("name") in versions
            ]
            if users:
                return f"\nWhat was installed stays, because {', '.join(users)} uses it."
            for kind, made in reversed(self._created):
                metadata = made["metadata"]
                with suppress(NotFound, Conflict):  # deleted already, or another has its name
                    await self._client.delete(
                        kind,
                        metadata["name"],
                        namespace=metadata.get("namespace"),
                        uid=metadata["uid"],
                    )
        except KubeError as error:
            return f"\nWhat was created before could not be removed again: {describe(error)}"
        names = ", ".join(reversed(self.created))
        return f"\nRemoved again: {names}."

    async def _update_operator(self, objects: PackageObjects) -> None:
        """Update an Operator that existed to the spec that comes with a newly installed version."""
        desired = objects.operator.to_wire()
        there = self._existing.get(OPERATORS, objects.operator.metadata.name)
        new_versions = self._created_versions() | self._existing.replaced
        new_version = objects.operator_version.metadata.name in new_versions
        if there is None or not new_version or there.get("spec") == desired.get("spec"):
            return
        try:
            await self._writes.replace(OPERATORS, {**there, "spec": desired.get("spec") or {}})
        except ApiError as error:
            talk(f"{described(OPERATORS, desired)} keeps its old description: {describe(error)}")
        else:
            self._report.done(f"{described(OPERATORS, desired)} updated")


def described(kind: Resource, obj: JsonObject) -> str:
    """Return `kind namespace/name`, as result lines name an object."""
    metadata = obj["metadata"]
    where = f"{metadata['namespace']}/" if kind.namespaced else ""
    return f"{kind.kind.lower()} {where}{metadata['name']}"
