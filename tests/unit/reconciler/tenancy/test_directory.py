"""What the informers of ServiceAccounts and Namespaces keep."""

from kubeio.types import JsonObject
from kudo.api.names import ANNOTATION_SERVICE_ACCOUNT
from kudo_reconciler.tenancy.accounts import kept, recordable


def annotated(text: str, **metadata: str) -> JsonObject:
    annotations = {ANNOTATION_SERVICE_ACCOUNT: text, "other": "x"}
    return {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": {"name": "n", "annotations": annotations, **metadata},
    }


def test_of_a_namespace_the_account_that_it_names_is_kept() -> None:
    assert kept(annotated("bob"))["metadata"]["annotations"] == {ANNOTATION_SERVICE_ACCOUNT: "bob"}


def test_what_is_too_long_for_a_name_is_cut_and_stays_too_long() -> None:
    annotations = kept(annotated("a" * 10_000))["metadata"]["annotations"]
    text = annotations[ANNOTATION_SERVICE_ACCOUNT]
    assert len(text) == 254
    assert recordable(text) is None
    assert recordable(text[:-1]) is not None


def test_annotations_of_a_service_account_which_tenants_write_are_not_kept() -> None:
    assert kept(annotated("a" * 10_000, namespace="ns"))["metadata"] == {
        "name": "n",
        "namespace": "ns",
    }
