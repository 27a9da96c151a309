"""What a running suite asks of the program that runs it."""

from typing import Protocol

from kubeio.client import Client
from kubeio.types import JsonObject


class HarnessError(Exception):
    """Something that a run, a fault or a local cluster cannot do; its text is for the user."""


class Host(Protocol):
    """The program that runs suites, `kubectl kudo test`: what its other commands do as well."""

    @property
    def user_agent(self) -> str:
        """Return how the program names itself in requests."""

    def describe(self, error: BaseException) -> str | None:
        """Return what to tell the user of an error; None if it is not an expected one."""

    def plan_status(self, instance: JsonObject) -> str:
        """Return the status of the plan that runs or ran last; empty if none ever did."""

    async def plan_tree(self, client: Client, instance: JsonObject) -> str:
        """Return the plans of an Instance as `plan status` prints them.

        Raises:
            HarnessError: the OperatorVersion of the Instance does not exist.
            KubeError: the API server did not answer.
        """

    async def download(self, url: str, limit: int) -> bytes:
        """Return the file of a URL.

        Raises:
            HarnessError: it cannot be read, or has more bytes than the limit.
        """
