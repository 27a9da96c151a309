"""Volumes for claims."""

from pathlib import Path

from tests.galera.volumes import CLASS, storage_class, volume
from tests.support.build import Json

_CLAIM: Json = {
    "metadata": {"namespace": "default", "name": "data-db-0", "uid": "1-2"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": CLASS,
    },
}


def test_a_volume_is_for_one_claim_and_stays_when_the_claim_goes() -> None:
    spec = volume(_CLAIM, Path("/somewhere/data"))["spec"]
    claim = spec["claimRef"]
    assert (claim["namespace"], claim["name"], claim["uid"]) == ("default", "data-db-0", "1-2")
    assert spec["capacity"] == {"storage": "1Gi"}
    assert spec["hostPath"] == {"path": "/somewhere/data", "type": "Directory"}
    assert spec["persistentVolumeReclaimPolicy"] == "Retain"
    assert spec["storageClassName"] == storage_class()["metadata"]["name"]
