"""The accounts that Instances act as.

Every request of a task, and every other request for an Instance that is not the bookkeeping of
KUDO, is sent by a client of this module. A failure never yields a client that acts as the
reconciler. See docs/design/20261123.tenancy.md.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from kubeio.client import Client
from kubeio.connection.identity import Identity
from kubeio.errors import Forbidden, KubeError
from kubeio.names import is_subdomain
from kudo.admission.tenancy import Tenancy, account_of, is_reserved
from kudo.api import Instance
from kudo.api.names import ANNOTATION_SERVICE_ACCOUNT
from kudo.api.task_kinds import FatalTaskError, TaskError, TransientTaskError
from kudo_reconciler.tenancy.directory import Directory

_NOT_FOUND: Final = "ServiceAccountNotFound"


@dataclass(frozen=True, slots=True)
class Accounts:
    """The accounts of Instances.

    Attributes:
        client: The reconciler's own.
        mode: Of the installation.
        own_namespaces: Those of the reconciler and of its Lease, in which nobody is impersonated.
        directory: Tells which accounts exist.
    """

    client: Client
    mode: Tenancy
    own_namespaces: Collection[str]
    directory: Directory

    def identity_of(self, instance: Instance) -> Identity | None:
        """Return the identity that an Instance acts as; None is the reconciler's own.

        Nothing is read: whether the account exists is not known.

        Raises:
            FatalTaskError: nobody is impersonated in its namespace; NamespaceReserved.
            TransientTaskError: the account has no valid name; ServiceAccountNotFound.
        """
        default = self.directory.known_default(instance.metadata.namespace)
        return self._identity(instance, account_of(instance, self.mode, default))

    async def name_of(self, instance: Instance) -> str | None:
        """Return the account that a run of an Instance begins with; None is the reconciler itself.

        Raises:
            KubeError: its Namespace could not be read.
        """
        named = account_of(instance, Tenancy.COMPAT)
        if named is not None or self.mode is Tenancy.COMPAT:
            return named
        default = await self.directory.default(instance.metadata.namespace)
        return account_of(instance, self.mode, default)

    async def acting_for(self, instance: Instance) -> Client:
        """Return a client that acts as the account of an Instance; raises as `acting` does."""
        try:
            return await self.acting(instance, await self.name_of(instance))
        except KubeError as error:
            raise TransientTaskError("TaskError", f"{error}") from error

    async def acting(self, instance: Instance, account: str | None) -> Client:
        """Return a client that acts as an account of the namespace of an Instance.

        The API server impersonates accounts that do not exist, and bindings outlive accounts. So
        the account is looked up first.

        Raises:
            FatalTaskError: nobody is impersonated in its namespace; NamespaceReserved.
            TransientTaskError: the account does not exist, or could not be read.
            ValueError: in strict no account is named; nothing is ever sent as the reconciler.
        """
        if account is None and self.mode is Tenancy.STRICT:
            raise ValueError("no account is named in strict mode")
        identity = self._identity(instance, account)
        if identity is None or account is None:
            return self.client
        try:
            exists = await self.directory.has_account(instance.metadata.namespace, account)
        except KubeError as error:
            raise TransientTaskError("TaskError", f"{error}") from error
        if not exists:
            raise TransientTaskError("ServiceAccountNotFound", self._missing(instance, account))
        return self.client.acting(identity)

    async def ends_with_namespace(
        self, instance: Instance, identity: Identity | None, error: TaskError
    ) -> bool:
        """Return whether an error stays, since the Instance is deleted together with its namespace.

        Accounts and bindings may go before Instances, and come no more.

        Args:
            instance: The Instance whose task failed.
            identity: Who the task acted as.
            error: Why it failed.
        """
        refused = identity is not None and isinstance(error.__cause__, Forbidden)
        if not instance.metadata.deleting or not (refused or error.reason == _NOT_FOUND):
            return False
        try:
            return await self.directory.is_terminating(instance.metadata.namespace)
        except KubeError:
            return False

    def _identity(self, instance: Instance, account: str | None) -> Identity | None:
        if account is None:
            return None
        namespace = instance.metadata.namespace
        if any(is_reserved(namespace, own) for own in self.own_namespaces):
            text = (
                f"nobody is impersonated in namespace {namespace}, since it is one of the system "
                "or the reconciler's: install the Instance in another namespace"
            )
            raise FatalTaskError("NamespaceReserved", text)
        try:
            return Identity.service_account(namespace, account)
        except ValueError as error:
            text = f"{error}: correct {self._place(instance, account)}"
            raise TransientTaskError("ServiceAccountNotFound", text) from error

    def _missing(self, instance: Instance, account: str) -> str:
        # A run keeps its account, and the name may not be changed while it runs.
        place = self._place(instance, account)
        other = "name another one in spec.serviceAccountName"
        if ANNOTATION_SERVICE_ACCOUNT in place:
            other = f"{other}, or change or remove {place}"
        return (
            f"ServiceAccount {account} does not exist in namespace {instance.metadata.namespace}: "
            f"create it, and the plan continues; or cancel the plan, and {other}"
        )

    def _place(self, instance: Instance, account: str) -> str:
        """Return where an account is named."""
        namespace = instance.metadata.namespace
        if instance.spec.service_account_name == account:
            return "spec.serviceAccountName"
        if self.mode is Tenancy.STRICT and self.directory.known_default(namespace) == account:
            return f"the annotation {ANNOTATION_SERVICE_ACCOUNT} of namespace {namespace}"
        return "spec.serviceAccountName"


def recordable(account: str | None) -> str | None:
    """Return an account if it has a name that an account can have."""
    return account if account is not None and is_subdomain(account) else None
