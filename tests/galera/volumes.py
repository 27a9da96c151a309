"""Volumes for claims on a real node, which has no provisioner: a hostPath volume for each claim.

Their directories are below that of the cluster, and go with it. A volume that is released keeps its
directory, as the reclaim policy Retain says.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from kubeio.client import Client
from kubeio.resource import Resource
from tests.support.build import Json

CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
VOLUMES = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
STORAGE_CLASSES = Resource(
    "storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False
)
CLASS = "local"
"""The StorageClass of claims that get a volume here."""
_POLL = 0.2


@dataclass
class Volumes:
    """Makes volumes for the claims of one namespace.

    Attributes:
        client: With the rights of an administrator.
        namespace: Of the claims.
        directory: Receives a directory for each claim.
    """

    client: Client
    namespace: str
    directory: Path

    @classmethod
    def of(cls, client: Client, namespace: str, cluster: Path) -> "Volumes":
        """Return volumes in the directory of a cluster, which is deleted with it."""
        return cls(client, namespace, cluster / "node" / "volumes" / namespace)

    def files(self, claim: str) -> list[str]:
        """Return the names of what is in the volume of a claim, sorted."""
        return sorted(found.name for found in self.directory.glob(f"{claim}-*/*"))

    async def run(self) -> None:
        """Make volumes until cancelled."""
        await self.client.apply(STORAGE_CLASSES, storage_class(), field_manager="tests")
        made: set[str] = set()
        while True:
            for claim in (await self.client.list(CLAIMS, namespace=self.namespace)).items:
                uid = claim["metadata"]["uid"]
                if uid not in made and _waits(claim):
                    await self._make(claim)
                    made.add(uid)
            await asyncio.sleep(_POLL)

    async def _make(self, claim: Json) -> None:
        path = self.directory / f"{claim['metadata']['name']}-{claim['metadata']['uid']}"
        path.mkdir(parents=True)
        # The kubelet gives hostPath volumes no fsGroup, and pods do not run as root.
        path.chmod(0o777)
        await self.client.create(VOLUMES, volume(claim, path))


def storage_class() -> Json:
    """Return the StorageClass, which provisions nothing."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": CLASS},
        "provisioner": "kubernetes.io/no-provisioner",
    }


def volume(claim: Json, path: Path) -> Json:
    """Return a volume for one claim and no other."""
    metadata, spec = claim["metadata"], claim["spec"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"volume-{metadata['uid']}"},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                **{key: metadata[key] for key in ("namespace", "name", "uid")},
            },
            "hostPath": {"path": str(path), "type": "Directory"},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": CLASS,
        },
    }


def _waits(claim: Json) -> bool:
    spec = claim["spec"]
    return spec.get("storageClassName") == CLASS and not spec.get("volumeName")
