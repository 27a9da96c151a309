"""One Lease as the API server keeps it.

A write must name the uid and the resourceVersion that are stored. One that changes nothing leaves
the resourceVersion alone.
"""

from dataclasses import dataclass

from kubeio.errors import ApiError, error_from_status
from kubeio.types import JsonObject, copy_json
from tests.unit.kubeio.fake_api import status_body


def refusal(code: int, reason: str, message: str = "no") -> ApiError:
    return error_from_status(status_body(code, reason, message))


@dataclass
class Server:
    """Keeps one Lease, as the API server does."""

    version: int = 10
    lease: JsonObject | None = None
    uids: int = 0
    writes: int = 0
    refusing: ApiError | None = None

    @property
    def spec(self) -> JsonObject:
        assert self.lease is not None
        found: JsonObject = self.lease["spec"]
        return found

    def get(self) -> JsonObject:
        if self.lease is None:
            raise refusal(404, "NotFound")
        return self.lease

    def create(self, obj: JsonObject) -> JsonObject:
        if self.lease is not None:
            raise refusal(409, "AlreadyExists")
        assert "resourceVersion" not in obj["metadata"]
        self.uids += 1
        return self._store({**obj, "metadata": obj["metadata"] | {"uid": f"u{self.uids}"}})

    def replace(self, obj: JsonObject) -> JsonObject:
        known = (self.lease or {"metadata": {}})["metadata"]
        for name in ("uid", "resourceVersion"):
            if obj["metadata"][name] != known.get(name):
                raise refusal(409, "Conflict")
        return self.lease if self.lease == obj else self._store(obj)

    def _store(self, obj: JsonObject) -> JsonObject:
        self.writes += 1
        self.version += 1
        stored: JsonObject = copy_json(obj)
        stored["metadata"]["resourceVersion"] = str(self.version)
        self.lease = stored
        return stored

    # By hand

    def edit(self, **spec: object) -> None:
        assert self.lease is not None
        self._store({**self.lease, "spec": self.spec | spec})

    def touch(self) -> None:
        assert self.lease is not None
        labels = {"touched": str(self.version)}
        self._store({**self.lease, "metadata": self.lease["metadata"] | {"labels": labels}})

    def delete(self) -> None:
        self.lease = None

    def put(self, lease: JsonObject) -> None:
        self.delete()
        self.create({"metadata": {"name": "l", "namespace": "ns"}, **lease})
