"""Whose a finalizer is, by its name."""

import pytest

from kudo.api.names import FINALIZER_CLEANUP
from kudo.objects import finalizers


@pytest.mark.parametrize(
    ("finalizer", "owner"),
    [
        (FINALIZER_CLEANUP, "KUDO, until plan cleanup has ended"),
        (finalizers.IN_USE, "Kubernetes, while a pod uses the claim"),
        ("snapshot.storage.kubernetes.io/volumesnapshot-bound-protection", "Kubernetes"),
        ("resources-finalizer.argocd.argoproj.io", "Argo CD"),
        ("example.com/hold", "the controller of example.com"),
        ("backup.example.com", "the controller of backup.example.com"),
        ("hold", "its name does not say whose"),
    ],
)
def test_a_finalizer_is_of_whoever_its_name_says(finalizer: str, owner: str) -> None:
    assert finalizers.owner_of(finalizer) == owner


def test_those_of_kudo_and_of_a_deletion_are_not_foreign() -> None:
    found = [FINALIZER_CLEANUP, finalizers.FOREGROUND, "orphan", finalizers.IN_USE, "a/b"]
    assert finalizers.foreign(found) == [finalizers.IN_USE, "a/b"]
