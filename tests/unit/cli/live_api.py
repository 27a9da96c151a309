"""The API server in memory with the real admission rules and the real reconciler behind it.

For command lines whose whole way counts; what is scripted in `fake_api` happens here by itself, in
real time.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from kubeio.client import Client
from kubeio.types import JsonObject
from kudo_reconciler.settings import Settings
from tests.support.apiserver.network.transport import CONFIG, MemoryTransport
from tests.support.apiserver.writes.admission import Review
from tests.support.instance_admission import RECONCILER, InstanceAdmission
from tests.support.world.replica import Replica
from tests.unit.cli.fake_api import FakeApi

_SETTINGS = Settings.read([], {})


class LiveApi(FakeApi):
    """The server, with both webhooks and one reconciler that leads."""

    def __init__(self) -> None:
        super().__init__()
        numbers = itertools.count(1)
        self._fresh_uid = lambda: f"00000000-0000-4000-8000-{next(numbers):012}"
        self._admission = InstanceAdmission(self._fresh_uid)

    @contextmanager
    def running(self, *, kudo: bool = True) -> Iterator["LiveApi"]:
        """Serve until the block ends; the tasks of the reconciler end with the server's loop."""
        with super().running(kudo=kudo):
            self._admission.storage = self.cluster.server.storage
            replica = self._http.do(self._start)
            yield self
            assert not replica.main.done(), replica.main

    def mutate(self, review: Review) -> JsonObject:
        return self._admission.mutate(review)

    def validate(self, review: Review) -> None:
        self._admission.validate(review)

    def _start(self) -> Replica:
        transport = MemoryTransport(self.cluster.server, user=RECONCILER)
        client = Client(CONFIG, transport=transport, finish_writes=True)
        replica = Replica.start(client, transport, Random(0), self._fresh_uid, _SETTINGS)
        replica.candidate.begin()
        return replica
