"""What runs the jobs of `kudo.jobs`; worker processes do (`workers.Pool`)."""

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
