"""Admission of Instances: which changes are allowed, and which plan they run."""

from kudo.admission.review import Decision, Request, Review, VersionKey, Versions, mutate, validate

__all__ = ["Decision", "Request", "Review", "VersionKey", "Versions", "mutate", "validate"]
