"""Which ServiceAccounts exist, which account a Namespace names, and whether it is being deleted.

In strict two informers answer, which keep little of the metadata of each object. What they lack is
read before it counts as missing: their events may be late. In compat nothing is watched, since
hardly any Instance names an account there; an account that was found counts as there for a while.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from kubeio.cache.informer import Informer
from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.kinds import NAMESPACES, SERVICE_ACCOUNTS
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo.api.names import ANNOTATION_SERVICE_ACCOUNT
from kudo_reconciler.common.clock import loop_seconds

_KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp")
_SECONDS: Final = 5.0
"""How long an account that was read counts as there."""
_MOST: Final = 1000
"""Accounts that are remembered at the same time."""
_LONGEST: Final = 254
"""Characters of an annotation that are kept: one more than a name can have."""


def kept(obj: JsonObject) -> JsonObject:
    """Return what the informers keep of a ServiceAccount or a Namespace."""
    metadata = obj["metadata"]
    small: JsonObject = {name: metadata[name] for name in _KEPT if metadata.get(name)}
    # Tenants write the annotations of ServiceAccounts, 256 KiB of each.
    account = None if metadata.get("namespace") else _default(obj)
    if account:
        small["annotations"] = {ANNOTATION_SERVICE_ACCOUNT: account}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": small}


class Directory:
    """ServiceAccounts and Namespaces.

    Args:
        client: The reconciler's own.
        accounts: The informer of ServiceAccounts; None in compat.
        namespaces: The informer of Namespaces; None in compat.
        clock: Seconds.
    """

    def __init__(
        self,
        client: Client,
        accounts: Informer | None = None,
        namespaces: Informer | None = None,
        clock: Callable[[], float] = loop_seconds,
    ) -> None:
        self._client = client
        self._accounts = accounts
        self._namespaces = namespaces
        self._clock = clock
        self._found: OrderedDict[tuple[str, str], float] = OrderedDict()

    @property
    def informers(self) -> tuple[Informer, ...]:
        return tuple(one for one in (self._accounts, self._namespaces) if one is not None)

    @property
    def synced(self) -> bool:
        return all(one.has_synced for one in self.informers)

    def known_default(self, namespace: str) -> str | None:
        """Return the account that a Namespace names, as far as the informer knows."""
        found = None if self._namespaces is None else self._namespaces.get(None, namespace)
        return None if found is None else _default(found)

    async def default(self, namespace: str) -> str | None:
        """Return the account that a Namespace names, or None.

        Raises:
            KubeError: the Namespace could not be read.
        """
        found = await self._current(self._namespaces, NAMESPACES, None, namespace)
        return None if found is None else _default(found)

    async def is_terminating(self, namespace: str) -> bool:
        """Return whether a Namespace is being deleted, or is gone.

        Raises:
            KubeError: the Namespace could not be read.
        """
        found = await self._current(self._namespaces, NAMESPACES, None, namespace)
        return found is None or _is_deleting(found)

    async def has_account(self, namespace: str, name: str) -> bool:
        """Return whether a ServiceAccount exists and is not being deleted.

        Raises:
            KubeError: it could not be read.
        """
        if self._accounts is None and self._is_remembered((namespace, name)):
            return True
        found = await self._current(self._accounts, SERVICE_ACCOUNTS, namespace, name)
        if found is None or _is_deleting(found):
            return False
        if self._accounts is None:
            self._remember((namespace, name))
        return True

    async def _current(
        self, informer: Informer | None, resource: Resource, namespace: str | None, name: str
    ) -> JsonObject | None:
        """Return an object from the cache, or else as it is read now; None if there is none."""
        found = None if informer is None else informer.get(namespace, name)
        if found is not None:
            return found
        try:
            live = await self._client.get(resource, name, namespace=namespace)
        except NotFound:
            return None
        if informer is not None:
            informer.observe(live)
        return live

    def _is_remembered(self, key: tuple[str, str]) -> bool:
        return self._found.get(key, float("-inf")) > self._clock()

    def _remember(self, key: tuple[str, str]) -> None:
        self._found[key] = self._clock() + _SECONDS
        self._found.move_to_end(key)
        if len(self._found) > _MOST:
            self._found.popitem(last=False)


def _default(namespace: JsonObject) -> str | None:
    text = (namespace["metadata"].get("annotations") or {}).get(ANNOTATION_SERVICE_ACCOUNT)
    # What is too long for a name stays too long.
    return None if text is None else text[:_LONGEST]


def _is_deleting(obj: JsonObject) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))
