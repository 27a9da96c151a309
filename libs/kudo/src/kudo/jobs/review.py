"""The job `review`: answers a whole AdmissionReview that is too large for an event loop.

The first call has the body alone. Where the decision needs OperatorVersions, the answer names
them, and the second call has them, too. A request is a line of JSON, then the body, then the
OperatorVersions; an answer is a line of JSON, then the patch: large parts are never wrapped in
another text.

This module is what the workers of the webhook are started with (`HANDLERS`, `prepare`). Those of
the reconciler need no models, and start without them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import orjson

from kudo.admission import Decision, Review, VersionKey, mutate, validate
from kudo.admission.envelope import (
    ALLOWED,
    OPERATOR_VERSION,
    AdmissionReview,
    Answer,
    MalformedReview,
    decided,
    failed,
    read_review,
    unreadable,
)
from kudo.admission.reading import VersionMalformed, parse_version
from kudo.admission.tenancy import Tenancy
from kudo.api import Json, OperatorVersion
from kudo.api.problems import InvalidInput, Problem, shown_name
from kudo.api.value_bounds import ValueBounds
from kudo.jobs import check
from kudo.jobs.position import position
from kudo.jobs.position import report_to as report_to  # for the process that is started with it
from kudo.parameters.bounds import preload
from kudo.parameters.values import Check, Fault, FullReader

NAME: Final = "review"
VERSION: Final = "version"
"""The job of OperatorVersions. In strict mode it is `kudo.jobs.version`, which services do not
import, since it needs the template engine; in compat mode all of them are allowed."""
MUTATE: Final = "mutate"
Blobs = Mapping[VersionKey, bytes | None]
"""OperatorVersions as JSON; None for one that does not exist."""
Versions = Mapping[VersionKey, OperatorVersion | None]


@dataclass(frozen=True, slots=True)
class Malformed:
    """The body is not an AdmissionReview; the message says why."""

    text: str


@dataclass(frozen=True, slots=True)
class Needed:
    """The OperatorVersions that the decision needs.

    Attributes:
        keys: Their namespaces and names.
        whole: Whether it needs their templates, tasks and steps, too.
        namespace: That of the request.
    """

    keys: tuple[VersionKey, ...]
    whole: bool = False
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The answer to the review, whose objects are left out."""

    review: AdmissionReview
    answer: Answer


@dataclass(frozen=True, slots=True)
class Route:
    """What is asked of a review.

    Attributes:
        name: `mutate` or `validate`.
        uid: Of the run that the review may schedule.
        tenancy: The mode of the installation.
    """

    name: str
    uid: str
    tenancy: Tenancy = Tenancy.COMPAT


def encode_request(route: Route, body: bytes, versions: Blobs) -> bytes:
    """Return the request of a call.

    Args:
        route: What is asked.
        body: The AdmissionReview.
        versions: The OperatorVersions that the call before asked for.
    """
    parts = [body, *(blob for blob in versions.values() if blob is not None)]
    lengths = [None if blob is None else len(blob) for blob in versions.values()]
    asked = [route.name, route.uid, route.tenancy.value]
    head = orjson.dumps([asked, len(body), list(versions), lengths])
    return b"".join((head, b"\n", *parts))


def decode_answer(answer: bytes) -> Malformed | Needed | Reviewed:
    head, _, patch = answer.partition(b"\n")
    fields = orjson.loads(head)
    if "malformed" in fields:
        return Malformed(fields["malformed"])
    if "needed" in fields:
        keys = tuple((namespace, name) for namespace, name in fields["needed"])
        return Needed(keys, fields["whole"], fields["namespace"])
    problems = tuple(Problem(*problem) for problem in fields["problems"])
    decision = Answer(problems, tuple(fields["warnings"]), patch, fields["code"])
    return Reviewed(AdmissionReview(**fields["review"]), decision)


def handle(request: bytes) -> bytes:
    """Return the answer to a review, or what it needs."""
    return answered(_answer, request)


def answered(answer: Callable[[bytes], bytes], request: bytes) -> bytes:
    """Return an answer, or what to say of a body that is no AdmissionReview."""
    try:
        return answer(request)
    except MalformedReview as error:
        return orjson.dumps({"malformed": str(error)})
    except orjson.JSONEncodeError:
        # The parser of a worker takes such texts, no other one does.
        return orjson.dumps({"malformed": "the body is not JSON: half a surrogate pair"})


def _answer(request: bytes) -> bytes:
    head, _, rest = request.partition(b"\n")
    (name, uid, tenancy), size, keys, lengths = orjson.loads(head)
    review = read_review(rest[:size], parse)
    if not review.needs_review:
        return encode_answer(review, ALLOWED)
    try:
        subject = Review.of(review.request)
    except InvalidInput as error:
        return encode_answer(review, unreadable(error))
    blobs: dict[VersionKey, bytes | None] = {}
    start = size
    for (version_namespace, version_name), length in zip(keys, lengths, strict=True):
        # Without a length, the OperatorVersion does not exist.
        blob = None if length is None else rest[start : start + length]
        blobs[version_namespace, version_name] = blob
        start += length or 0
    missing = [key for key in subject.references() if key not in blobs]
    if missing:
        needed = {
            "needed": missing,
            "whole": subject.needs_whole_versions,
            "namespace": review.namespace,
        }
        return orjson.dumps(needed)
    return encode_answer(review, _decided(subject, blobs, Route(name, uid, Tenancy(tenancy))))


def decide(
    route: str,
    subject: Review,
    versions: Versions,
    *,
    fresh_uid: Callable[[], str],
    check: Check,
    tenancy: Tenancy = Tenancy.COMPAT,
) -> Decision:
    """Make the decision of a route."""
    if route == MUTATE:
        return mutate(subject, versions, fresh_uid=fresh_uid, check=check, tenancy=tenancy)
    return validate(subject, versions, check=check, tenancy=tenancy)


def _decided(subject: Review, blobs: Blobs, route: Route) -> Answer:
    versions: dict[VersionKey, OperatorVersion | None] = {}
    for key, blob in blobs.items():
        position.tell(f'OperatorVersion "{"/".join(key)}"')
        try:
            versions[key] = None if blob is None else parse_version(parse(blob))
        except VersionMalformed as error:
            text = f"OperatorVersion {'/'.join(key)} cannot be read: {error}; try again"
            return failed(500, "OperatorVersionUnreadable", text)
    position.tell("")
    check = _told(FullReader(), _names(subject, versions))
    decision = decide(
        route.name,
        subject,
        versions,
        fresh_uid=lambda: route.uid,
        check=check,
        tenancy=route.tenancy,
    )
    return decided(decision)


def _names(subject: Review, versions: Versions) -> Mapping[str, str]:
    """Return the name of a parameter by its text; of several with the same text, any is right."""
    names = {
        parameter.default: parameter.name
        for version in versions.values()
        if version is not None
        for parameter in version.parameters
        if parameter.default is not None
    }
    return names | {text: name for name, text in subject.new.parameters.items()}


def _told(check: Check, names: Mapping[str, str]) -> Check:
    """Return the check, which tells the parameter while it works on it."""

    def told(value_type: str, text: str, bounds: ValueBounds | None = None, /) -> Fault | None:
        name = names.get(text)
        position.tell("" if name is None else f'parameter "{shown_name(name)}"')
        fault = check(value_type, text, bounds)
        position.tell("")
        return fault

    return told


def parse(text: bytes) -> Json:
    """Parse JSON; orjson crashes where memory is limited, and this is told as a MemoryError."""
    return json.loads(text, parse_constant=_no_constant)


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")


def encode_answer(review: AdmissionReview, answer: Answer) -> bytes:
    """Return the answer to a review as `decode_answer` reads it."""
    fields: dict[str, Any] = {
        "review": asdict(replace(review, object={}, old_object=None)),
        "problems": [(p.reason, p.message, p.field, p.limit) for p in answer.problems],
        "warnings": answer.warnings,
        "code": answer.code,
    }
    return orjson.dumps(fields) + b"\n" + answer.patch


_SAMPLE: Final = b"""{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{
"uid":"u","resource":{"group":"kudo.dev","resource":"instances"},"operation":"UPDATE",
"namespace":"ns","name":"i","oldObject":{"spec":{"parameters":{"A":"1"}}},
"object":{"spec":{"operatorVersion":{"name":"v"},"parameters":{"A":%s}}}}}"""


def prepare() -> None:
    """Answer sample reviews, so that everything imported at first use is loaded."""
    preload()
    version = b'{"spec":{"plans":{"deploy":{}},"parameters":[{"name":"A","value-type":"array"}]}}'
    for value in (b"7", b'"[1]"', b'"["'):
        blobs: Blobs = {("ns", "v"): version, ("ns", ""): None}
        handle(encode_request(Route(MUTATE, "u"), _SAMPLE % value, blobs))


def _allow_version(request: bytes) -> bytes:
    """Return the answer of compat mode to a review of an OperatorVersion.

    Only a process of strict mode, which this one replaces, can have registered for them.
    """

    def allow(body: bytes) -> bytes:
        return encode_answer(read_review(body, parse, kind=OPERATOR_VERSION), ALLOWED)

    return answered(allow, request)


HANDLERS: Mapping[str, Callable[[bytes], bytes]] = {
    check.NAME: check.handle,
    NAME: handle,
    VERSION: _allow_version,
}
