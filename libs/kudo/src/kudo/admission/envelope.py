"""Reads and writes AdmissionReviews (admission.k8s.io/v1 and v1beta1) without models.

Only what a decision needs is read. The answer is in the version of the request. The API server
shows `status.message` to the user behind "denied the request:", so it lists everything that is
wrong, the deciding problem first. An `Answer` is a decision, or the error that prevented one.
"""

import base64
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from kudo.admission.review import AdmissionRequest, Decision
from kudo.api import Json, JsonObject
from kudo.api.names import GROUP
from kudo.api.problems import InvalidInput, Problem, shown

INSTANCE, OPERATOR_VERSION = "Instance", "OperatorVersion"
Outcome = Literal["allowed", "denied", "limited", "error"]

_VERSIONS = ("admission.k8s.io/v1", "admission.k8s.io/v1beta1")
_RESOURCES = {INSTANCE: "instances", OPERATOR_VERSION: "operatorversions"}
_NAME = 253
_OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
# Bytes that are searched: identity and namespace come first in what API servers write.
_HEAD = 4096
_FIRST_UID = re.compile(rb'"request":{"uid":"([^"\\]{1,64})"')
_FIRST_NAMESPACE = re.compile(rb'"namespace":"([^"\\]{1,63})"')
_FIRST_OPERATION = re.compile(rb'"operation":"([A-Z]{1,8})"')


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a review.

    Attributes:
        problems: Why it is denied, the deciding problem first; empty if it is allowed.
        warnings: Shown to the client although the request is allowed.
        patch: JSON Patch as JSON; empty if nothing is to change.
        code: HTTP status of the denial.
    """

    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: bytes = b""
    code: int = 403

    @property
    def allowed(self) -> bool:
        return not self.problems

    @property
    def reason(self) -> str:
        return self.problems[0].reason if self.problems else ""

    @property
    def limit(self) -> str:
        """Name of the limit that decided, or an empty string."""
        return self.problems[0].limit if self.problems else ""

    @property
    def outcome(self) -> Outcome:
        """Label of the metric: `error` is our fault, `limited` means the request is too large."""
        if self.allowed:
            return "allowed"
        if self.limit:
            return "limited"
        return "denied" if self.code < 500 else "error"


ALLOWED = Answer()


def decided(decision: Decision) -> Answer:
    """Return the answer for a decision."""
    if decision.problems:
        return Answer(decision.problems, code=413 if decision.problems[0].limit else 403)
    patch = orjson.dumps(decision.patch) if decision.patch else b""
    return Answer(warnings=decision.warnings, patch=patch)


def unreadable(error: InvalidInput) -> Answer:
    """Return the answer to objects that cannot be read."""
    return Answer(error.problems, code=400)


def failed(code: int, reason: str, message: str, *, limit: str = "") -> Answer:
    """Return a denial without a decision."""
    return Answer((Problem(reason, message, limit=limit),), code=code)


class MalformedReview(Exception):
    """The body is not an AdmissionReview; the message says why."""


@dataclass(frozen=True, slots=True)
class AdmissionReview:
    """The fields of an AdmissionReview that decisions need.

    Attributes:
        api_version: Version to answer in.
        uid: Identity of the request, repeated in the answer.
        operation: CREATE, UPDATE, DELETE or CONNECT.
        kind: The kind that the route reviews; empty if the request is about a subresource or
            another resource.
        object: The submitted object; empty unless one of that kind is created or updated.
        old_object: The stored object of an UPDATE.
        dry_run: Whether nothing will be stored.
        username: The user of the request; recorded when they cancel a run, decides nothing.
    """

    api_version: str
    uid: str
    operation: str
    namespace: str
    name: str
    kind: str
    object: JsonObject
    old_object: JsonObject | None
    dry_run: bool
    username: str

    @property
    def request(self) -> AdmissionRequest:
        """The part of the request that a decision depends on."""
        return AdmissionRequest(
            operation="CREATE" if self.operation == "CREATE" else "UPDATE",
            namespace=self.namespace,
            name=self.name,
            object=self.object,
            old_object=self.old_object,
            username=self.username,
        )

    @property
    def needs_review(self) -> bool:
        """Whether the rules apply; any other request is allowed."""
        return bool(self.kind) and self.operation in {"CREATE", "UPDATE"}


def read_review(
    body: bytes, parse: Callable[[bytes], Json] = orjson.loads, *, kind: str = INSTANCE
) -> AdmissionReview:
    """Read the body of a request.

    Args:
        body: The bytes.
        parse: Parses JSON; raises ValueError.
        kind: The kind that the route reviews.

    Raises:
        MalformedReview: it is not an AdmissionReview, or not one that API servers send.
    """
    try:
        document = _object(parse(body), "the body")
    except json.JSONDecodeError as error:
        # The error's document is the body, which may hold secrets; only its text goes on.
        raise MalformedReview(f"the body is not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise MalformedReview("the body is not JSON as API servers send it") from None
    api_version = document.get("apiVersion")
    if document.get("kind") != "AdmissionReview" or api_version not in _VERSIONS:
        raise MalformedReview(f"the body is not an AdmissionReview of {' or '.join(_VERSIONS)}")
    request = _object(document.get("request"), "request")
    operation = _text(request, "operation")
    if operation not in _OPERATIONS:
        raise MalformedReview("request.operation is not one of " + ", ".join(sorted(_OPERATIONS)))
    resource = _object(request.get("resource"), "request.resource")
    # A rule of the webhook's configuration with `*` would send other resources as well.
    about = (
        resource.get("group") == GROUP
        and resource.get("resource") == _RESOURCES[kind]
        and not request.get("subResource")
    )
    user = request.get("userInfo")
    username = user.get("username") if isinstance(user, dict) else None
    reviewed = about and operation in {"CREATE", "UPDATE"}
    return AdmissionReview(
        api_version=api_version,
        uid=_text(request, "uid"),
        operation=operation,
        namespace=_text(request, "namespace") if reviewed else "",
        name=_text(request, "name", empty=True),
        kind=kind if about else "",
        object=_object(request.get("object"), "request.object") if reviewed else {},
        old_object=(
            _object(request.get("oldObject"), "request.oldObject")
            if reviewed and operation == "UPDATE"
            else None
        ),
        dry_run=request.get("dryRun") is True,
        username=username if reviewed and isinstance(username, str) else "",
    )


def read_head(body: bytes, kind: str = INSTANCE) -> AdmissionReview | None:
    """Return as much of a large review as answering it needs, without its objects and its name.

    None if it does not begin as API servers write it. What tenants choose comes behind the uid and
    has its quotes escaped, so it cannot be taken for one of these fields.
    """
    head = body[:_HEAD]
    uid, namespace = _FIRST_UID.search(head), _FIRST_NAMESPACE.search(head)
    if uid is None:
        return None
    operation = _FIRST_OPERATION.search(head)
    return AdmissionReview(
        api_version=_VERSIONS[f'"apiVersion":"{_VERSIONS[1]}"'.encode() in head[: uid.start()]],
        uid=uid[1].decode(errors="replace"),
        operation=operation[1].decode() if operation else "",
        namespace=namespace[1].decode(errors="replace") if namespace else "",
        name="",
        kind=kind,
        object={},
        old_object=None,
        dry_run=False,
        username="",
    )


def _object(value: Any, where: str) -> JsonObject:
    if not isinstance(value, dict):
        raise MalformedReview(f"{where} is missing or not an object")
    return value


def _text(request: JsonObject, field: str, *, empty: bool = False) -> str:
    value = request.get(field, "" if empty else None)
    if not isinstance(value, str) or not (value or empty):
        raise MalformedReview(f"request.{field} is missing or not a string")
    return value


def allow(review: AdmissionReview, *, warnings: Sequence[str] = (), patch: bytes = b"") -> bytes:
    """Return the answer that lets the request pass, with the JSON Patch to apply first.

    Args:
        review: The request.
        warnings: What the client is told.
        patch: The operations as JSON; empty if nothing is to change.
    """
    response: JsonObject = {"uid": review.uid, "allowed": True}
    if warnings:
        response["warnings"] = list(warnings)
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(patch).decode()
    return _answer(review, response)


def deny(review: AdmissionReview, problems: Sequence[Problem], code: int) -> bytes:
    """Return the answer that refuses the request; `problems` must not be empty."""
    status = {
        "status": "Failure",
        "code": code,
        "reason": problems[0].reason,
        "message": "\n".join(problem.message for problem in problems),
        "details": {
            "name": shown(review.name, _NAME),
            "group": GROUP,
            "kind": review.kind or INSTANCE,
            "causes": [
                {"reason": problem.reason, "message": problem.message, "field": problem.field}
                for problem in problems
            ],
        },
    }
    return _answer(review, {"uid": review.uid, "allowed": False, "status": status})


def _answer(review: AdmissionReview, response: JsonObject) -> bytes:
    return orjson.dumps(
        {"apiVersion": review.api_version, "kind": "AdmissionReview", "response": response}
    )


def failure(code: int, reason: str, message: str) -> bytes:
    """Return a Status for a request that could not be answered with an AdmissionReview."""
    return orjson.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": code,
            "reason": reason,
            "message": message,
        }
    )
