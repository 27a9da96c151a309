"""The identity that tasks act as: every request of a task uses the client from `client_for`.

The reconciler's own requests use its own identity: watches, discovery, OperatorVersions, the
status, finalizers and events of Instances, and the cleanup after the end of a run or an Instance.
"""

from kubeio.client import Client
from kubeio.connection.identity import Identity
from kudo.api import Instance


def acts_as(instance: Instance) -> Identity | None:  # noqa: ARG001 - none names an account yet
    """Return the identity that the tasks of an Instance act as; None is the reconciler's own."""
    return None


def client_for(instance: Instance, client: Client) -> Client:
    """Return the view of the reconciler's client for the tasks of an Instance."""
    return client.acting(acts_as(instance))
