"""Creates the objects of a package, and takes back what it created if that fails half-way."""

from contextlib import suppress

from kubectl_kudo.errors import CliError, describe
from kubectl_kudo.installed import Found, check_same
from kubectl_kudo.kinds import FIELD_MANAGER, INSTANCES, OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.output import JsonObject, say, talk
from kubectl_kudo.session import Session
from kubeio.errors import AlreadyExists, ApiError, Conflict, KubeError, NotFound
from kubeio.resource import Resource
from kudo.packages import PackageObjects


class Installation:
    """One call of `install`, after all checks.

    Args:
        session: The connection.
        objects: What the package holds.
        instance: The Instance to create; None for none.
        found: What is there already.
    """

    def __init__(
        self, session: Session, objects: PackageObjects, instance: JsonObject | None, found: Found
    ) -> None:
        self._client = session.client
        self._namespace = session.namespace
        self._objects = objects
        self._instance = instance
        self._found = found
        self._created: list[tuple[Resource, JsonObject]] = []

    async def run(self) -> JsonObject | None:
        """Create what is missing, and return the Instance.

        Raises:
            CliError: something was refused; the text says why, and what became of the rest.
        """
        try:
            await self._create_all()
        except (CliError, ApiError) as error:
            raise CliError(f"{describe(error)}{await self._take_back()}") from error
        await self._renew_operator()
        return next((made for kind, made in self._created if kind is INSTANCES), None)

    async def _create_all(self) -> None:
        if self._found.operator is None:
            await self._create(OPERATORS, self._objects.operator.to_wire())
        if self._found.operator_version is None:
            await self._create(OPERATOR_VERSIONS, self._objects.operator_version.to_wire())
        if self._instance is not None:
            await self._create(INSTANCES, self._instance)

    async def _create(self, kind: Resource, obj: JsonObject) -> None:
        try:
            made = await self._client.create(kind, obj, field_manager=FIELD_MANAGER)
        except AlreadyExists:
            await self._created_meanwhile(kind, obj)
        except ApiError as error:
            text = f"failed to create {_described(kind, obj)}: {describe(error)}"
            raise CliError(text) from error
        else:
            self._created.append((kind, made))
            say(f"{_described(kind, made)} created")

    async def _created_meanwhile(self, kind: Resource, obj: JsonObject) -> None:
        """Somebody else created the object since we looked: that is as good if it is the same."""
        name = obj["metadata"]["name"]
        if kind is INSTANCES:
            raise already_there(name, self._namespace)
        if kind is OPERATOR_VERSIONS:
            there = await self._client.get(kind, name, namespace=self._namespace)
            check_same(there, self._objects.operator_version)
            say(f"{_described(kind, obj)} already installed")

    async def _take_back(self) -> str:
        """Delete what this call created, unless an Instance uses it; return what was done."""
        if not self._created:
            return ""
        try:
            users = await self._users()
            if users:
                return f"\nWhat was installed stays, because {', '.join(users)} uses it."
            for kind, made in reversed(self._created):
                await self._delete(kind, made)
        except KubeError as error:
            return f"\nWhat was created before could not be removed again: {describe(error)}"
        names = ", ".join(_described(kind, made) for kind, made in reversed(self._created))
        return f"\nRemoved again: {names}."

    async def _users(self) -> list[str]:
        version = self._objects.operator_version.metadata.name
        instances = await self._client.list(INSTANCES, namespace=self._namespace)
        return [
            f"instance {obj['metadata']['name']}"
            for obj in instances.items
            if (obj["spec"].get("operatorVersion") or {}).get("name") == version
        ]

    async def _delete(self, kind: Resource, made: JsonObject) -> None:
        metadata = made["metadata"]
        with suppress(NotFound, Conflict):  # gone, or another object by now
            await self._client.delete(
                kind, metadata["name"], namespace=self._namespace, uid=metadata["uid"]
            )

    async def _renew_operator(self) -> None:
        """Give an Operator that was there what a newly installed version says of it."""
        there, wanted = self._found.operator, self._objects.operator.to_wire()
        new_version = any(kind is OPERATOR_VERSIONS for kind, _ in self._created)
        if there is None or not new_version or there.get("spec") == wanted.get("spec"):
            return
        try:
            await self._client.replace(OPERATORS, {**there, "spec": wanted.get("spec") or {}})
        except ApiError as error:
            talk(f"{_described(OPERATORS, wanted)} keeps its old description: {describe(error)}")
        else:
            say(f"{_described(OPERATORS, wanted)} updated")


def already_there(name: str, namespace: str) -> CliError:
    """Return the error for an Instance whose name is taken."""
    return CliError(
        f"cannot install instance '{name}' because an instance of that name already exists in "
        f"namespace {namespace}"
    )


def _described(kind: Resource, obj: JsonObject) -> str:
    metadata = obj["metadata"]
    return f"{kind.kind.lower()} {metadata['namespace']}/{metadata['name']}"
