"""Interface that runs the jobs of `kudo.jobs`; `workers.Pool` implements it."""

from typing import Protocol


class Jobs(Protocol):
    """Runs jobs; see `workers.Pool.call`."""

    async def call(
        self,
        handler: str,
        payload: bytes,
        *,
        tenant: str,
        cpu: float | None = None,
        wall: float | None = None,
    ) -> bytes:
        """Run a job; raises `WorkerError`."""
