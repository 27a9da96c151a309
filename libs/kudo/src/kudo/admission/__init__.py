"""Admission of Instances: which changes are allowed, and which plan they run."""

from kudo.admission.review import (
    AdmissionRequest,
    Decision,
    Review,
    VersionKey,
    Versions,
    mutate,
    validate,
)

__all__ = ["AdmissionRequest", "Decision", "Review", "VersionKey", "Versions", "mutate", "validate"]
