"""Worker processes for data of tenants, which must not block the event loop of a service.

A `Pool` keeps a few processes warm. Each runs one job at a time under limits of the kernel, without
descriptors of the service, and can open nothing. It knows nothing of Kubernetes.
"""

from workers.errors import JobFailed, LimitExceeded, LimitName, Limits, PoolBusy, WorkerError
from workers.pool import Observation, Pool
from workers.queue import Bounds

__all__ = [
    "Bounds",
    "JobFailed",
    "LimitExceeded",
    "LimitName",
    "Limits",
    "Observation",
    "Pool",
    "PoolBusy",
    "WorkerError",
]
