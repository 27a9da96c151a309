"""Webhook configurations: v1 has stricter defaults and wants side effects to be declared."""

from typing import Final

from kudo.api import JsonObject
from kudo.removed_apis.errors import NotMechanical
from kudo.removed_apis.shapes import mappings_at, set_default

_DEFAULTS: Final = {"failurePolicy": "Ignore", "matchPolicy": "Exact", "timeoutSeconds": 30}


def upgrade_webhooks(configuration: JsonObject) -> None:
    """Write the old defaults out.

    Raises:
        NotMechanical: a webhook does not say that dry runs are safe with it.
    """
    for webhook in mappings_at(configuration, "webhooks"):
        if webhook.get("sideEffects") in (None, "Unknown", "Some"):
            raise NotMechanical(
                f"admissionregistration.k8s.io/v1 needs to know of webhook {webhook.get('name')} "
                "whether it may be called in a dry run: set sideEffects to None or NoneOnDryRun"
            )
        for field, value in _DEFAULTS.items():
            set_default(webhook, field, value)
        if not webhook.get("admissionReviewVersions"):
            webhook["admissionReviewVersions"] = ["v1beta1"]
