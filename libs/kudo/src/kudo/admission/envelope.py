"""Reads and writes AdmissionReviews (admission.k8s.io/v1 and v1beta1) without models.

Only what a decision needs is read. The answer is in the version of the request. The API server
shows `status.message` to the user behind "denied the request:", so it lists everything that is
wrong, the deciding problem first.
"""

import base64
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from kudo.admission.review import Request
from kudo.api import Json, JsonObject
from kudo.api.names import GROUP
from kudo.api.problems import Problem, shown

_GROUP = "admission.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
INSTANCE, OPERATOR_VERSION = "Instance", "OperatorVersion"
_RESOURCES = {INSTANCE: "instances", OPERATOR_VERSION: "operatorversions"}
_NAME = 253
_OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})


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
    def request(self) -> Request:
        """The part of the request that a decision depends on."""
        return Request(
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
    document = _object(_parsed(body, parse), "the body")
    api_version = document.get("apiVersion")
    if document.get("kind") != "AdmissionReview" or api_version not in _VERSIONS:
        raise MalformedReview(f"the body is not an AdmissionReview of {' or '.join(_VERSIONS)}")
    request = _object(document.get("request"), "request")
    operation = _text(request, "operation")
    if operation not in _OPERATIONS:
        raise MalformedReview("request.operation is not one of " + ", ".join(sorted(_OPERATIONS)))
    about = _is_about(request, kind)
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
        username=_username(request) if reviewed else "",
    )


_HEAD = 4096
"""Bytes that are searched: identity and namespace come first in what API servers write."""
_FIRST_UID = re.compile(rb'"request":{"uid":"([^"\\]{1,64})"')
_FIRST_NAMESPACE = re.compile(rb'"namespace":"([^"\\]{1,63})"')
_FIRST_OPERATION = re.compile(rb'"operation":"([A-Z]{1,8})"')


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


def _parsed(body: bytes, parse: Callable[[bytes], Json]) -> Json:
    try:
        return parse(body)
    except json.JSONDecodeError as error:
        # The error's document is the body, which may hold secrets; only its text goes on.
        raise MalformedReview(f"the body is not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise MalformedReview("the body is not JSON as API servers send it") from None


def _object(value: Any, where: str) -> JsonObject:
    if not isinstance(value, dict):
        raise MalformedReview(f"{where} is missing or not an object")
    return value


def _text(request: JsonObject, field: str, *, empty: bool = False) -> str:
    value = request.get(field, "" if empty else None)
    if not isinstance(value, str) or not (value or empty):
        raise MalformedReview(f"request.{field} is missing or not a string")
    return value


def _username(request: JsonObject) -> str:
    user = request.get("userInfo")
    name = user.get("username") if isinstance(user, dict) else None
    return name if isinstance(name, str) else ""


def _is_about(request: JsonObject, kind: str) -> bool:
    resource = _object(request.get("resource"), "request.resource")
    found = resource.get("group"), resource.get("resource")
    return found == (GROUP, _RESOURCES[kind]) and not request.get("subResource")


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
            "causes": [_cause(problem) for problem in problems],
        },
    }
    return _answer(review, {"uid": review.uid, "allowed": False, "status": status})


def _cause(problem: Problem) -> JsonObject:
    return {"reason": problem.reason, "message": problem.message, "field": problem.field}


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
