"""Admission of Instances by KUDO's rules, as the API server in memory asks for it.

It stands where the API server would call the webhook: the same match conditions, the same rules,
the same wording around a denial.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import orjson

from kubeio.types import JsonObject
from kudo.admission import AdmissionRequest, VersionKey
from kudo.admission import Review as InstanceReview
from kudo.admission.envelope import Answer, decided, unreadable
from kudo.admission.reading import parse_version
from kudo.admission.tenancy import Tenancy
from kudo.api import OperatorVersion
from kudo.api.names import GROUP
from kudo.api.problems import InvalidInput
from kudo.jobs.review import decide
from kudo.parameters.values import read_fully
from tests.support.apiserver.status import Cause, Names, StatusError, internal_error
from tests.support.apiserver.storage import Storage
from tests.support.apiserver.writes.admission import Review
from tests.support.apiserver.writes.patches import apply_json_patch

RECONCILER: Final = "system:serviceaccount:kudo-system:kudo-reconciler"
_INSTANCES: Final = (GROUP, "instances")
_VERSIONS: Final = (GROUP, "operatorversions")
_BOOKKEEPING: Final = ("parameters", "parametersFrom", "operatorVersion")


@dataclass(slots=True)
class InstanceAdmission:
    """Both webhooks of KUDO.

    Attributes:
        storage: Where OperatorVersions are; set once the server is there.
        mutating: Whether the mutating configuration is installed.
        validating: Whether the validating configuration is installed.
        reachable: Whether the webhook answers; what it should judge is refused otherwise.
        tenancy: Its mode.
    """

    fresh_uid: Callable[[], str]
    storage: Storage | None = None
    mutating: bool = True
    validating: bool = True
    reachable: bool = True
    tenancy: Tenancy = Tenancy.COMPAT
    _parsed: dict[str, OperatorVersion] = field(default_factory=dict)

    def mutate(self, review: Review) -> JsonObject:
        if not self.mutating or not _matches(review):
            return review.obj
        answer = self._answer("mutate", review)
        review.warnings.extend(answer.warnings)
        if not answer.patch:
            return review.obj
        changed: JsonObject = apply_json_patch(review.obj, orjson.loads(answer.patch))
        return changed

    def validate(self, review: Review) -> None:
        if self.validating and _matches(review):
            self._answer("validate", review)

    def _answer(self, route: str, review: Review) -> Answer:
        webhook = f"{route}.instance-admission.kudo.dev"
        if not self.reachable:
            raise internal_error(f'failed calling webhook "{webhook}": connection refused')
        answer = self._judged(route, review)
        if answer.allowed:
            return answer
        text = "\n".join(problem.message for problem in answer.problems)
        raise StatusError(
            answer.code,
            answer.reason,
            f'admission webhook "{webhook}" denied the request: {text}',
            about=Names(GROUP, "Instance", review.obj["metadata"]["name"]),
            causes=[Cause(p.reason, p.message, p.field) for p in answer.problems],
        )

    def _judged(self, route: str, review: Review) -> Answer:
        metadata = review.obj["metadata"]
        request = AdmissionRequest(
            review.operation,
            metadata["namespace"],
            metadata["name"],
            review.obj,
            review.old,
            review.user,
        )
        try:
            subject = InstanceReview.of(request)
        except InvalidInput as error:
            return unreadable(error)
        versions = {key: self._version(key) for key in subject.references()}
        decision = decide(
            route,
            subject,
            versions,
            fresh_uid=self.fresh_uid,
            check=read_fully,
            tenancy=self.tenancy,
        )
        return decided(decision)

    def _version(self, key: VersionKey) -> OperatorVersion | None:
        assert self.storage is not None
        raw = self.storage.table(_VERSIONS).objects.get(key)
        if raw is None:
            return None
        version = raw["metadata"]["resourceVersion"]
        if version not in self._parsed:
            self._parsed[version] = parse_version(raw)
        return self._parsed[version]


def _matches(review: Review) -> bool:
    """Return whether the webhook configurations' rules and match conditions hold."""
    if review.kind.storage != _INSTANCES or review.subresource:
        return False
    if review.old is None:
        return True
    new, old = review.obj.get("spec") or {}, review.old.get("spec") or {}
    if new == old:
        return False
    changed = any(new.get(name) != old.get(name) for name in _BOOKKEEPING)
    return changed or review.user != RECONCILER


def addressed(review: Review, obj: JsonObject) -> JsonObject:
    """Return a Service with the address that the API server gives it, others as they are."""
    if review.kind.storage != ("", "services") or "clusterIP" in obj.get("spec", {}):
        return obj
    return {**obj, "spec": {**obj["spec"], "clusterIP": "10.0.0.1"}}


class Addressing(InstanceAdmission):
    """Both webhooks, and the addresses that the API server gives to Services."""

    __slots__ = ()

    def mutate(self, review: Review) -> JsonObject:
        return addressed(review, InstanceAdmission.mutate(self, review))
