"""Redacts the contents of Secrets from errors about rejected requests.

The API server quotes values when it rejects an object: ".data.pin: expected string, got
&value.valueUnstructured{Value:4711}". Webhooks and policies may quote anything. So an error about
a Secret is never passed on: it is rebuilt from field names and known phrases of this module.

Invariant: of an answer about a Secret come through names of fields, of other objects (namespace,
quota, webhook, field manager) and of users, and numbers that are limits; nothing else. Phrases are
recorded from Kubernetes 1.36. What no phrase fits is left out.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kudo.api.known_secrets import is_secret
from kudo.api.wire import Json, JsonObject

_MOST_FIELDS: Final = 20
# Characters of a field's name that are looked for in an answer; a key has at most 253.
_LONGEST_NAME: Final = 300
_LONGEST_SHOWN: Final = 120
# Characters of a text of the API server that phrases are looked for in.
_READ: Final = 2000

_LEFT_OUT: Final = (
    "the rest of the answer is withheld, since it may quote the Secret; "
    "`kubectl apply --server-side --dry-run=server` shows it"
)

_TYPED: Final = "failed to create typed patch object"
_CONVERTED: Final = "failed to convert new object"
_SEVERAL: Final = "errors:\n  ."
_FAULT: Final = re.compile(
    r": (expected (?:string|numeric|boolean|list|map)\b|duplicate entries\b"
    r"|field not declared in schema\b)"
)
_NAMED: Final = r'[\w.]+ "[^"]*"'
_FORBIDDEN: Final = (
    r'User "[^"]*" cannot (?:\w+|impersonate(?:-on)?:[\w:]+) resource "\w+" in API group "[\w.]*"'
    r'(?: in the namespace "[^"]*"| at the cluster scope)?'
    r"|unable to create new content in namespace \S+ because it is being terminated"
    r"|ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request"
    r"|(?:exceeded|failed) quota: [-.\w]+"
)
_OUTDATED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
    r"|the UID in the precondition \([-\w]*\) does not match the UID in record"
)
_NOT_IMPERSONATED: Final = (
    r'User "[^"]*" cannot impersonate resource "serviceaccounts" in API group ""'
    r'(?: in the namespace "[^"]*")?'
)
# Beginnings of messages; the groups in them are names.
_PHRASES: Final = re.compile(
    "|".join(
        (
            r'admission webhook "[^"]*" denied the request',
            r'Internal error occurred: failed calling webhook "[^"]*"',
            rf"(?:{_NAMED}|secrets) is forbidden: (?:{_FORBIDDEN})",
            _NOT_IMPERSONATED,
            rf"Operation cannot be fulfilled on {_NAMED}: (?:{_OUTDATED})",
            r"Apply failed with \d+ conflicts?\b",
            rf"{_NAMED} not found",
            r"metadata\.managedFields must be nil",
            r"the server could not find the requested resource",
            r"the server rejected our request due to an error in our request",
            r"Request entity too large: limit is \d+",
            r"etcdserver: (?:request is too large|request timed out|leader changed)",
            r"rpc error: code = ResourceExhausted desc = trying to send message larger than max ",
            r"Timeout: request did not complete within requested timeout",
            r"Too many requests, please try again later",
            r"Unauthorized\b",
            r"the object (?:was replaced|changed) meanwhile",
        )
    )
)
_BY_ADMISSION: Final = re.compile(r"admission webhook |.* is forbidden: ValidatingAdmissionPolicy ")
_UNREADABLE: Final = re.compile(r'Secret in version "v1" cannot be handled as a Secret: ')

_INVALID: Final = {
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotFound": "Not found",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueRequired": "Required value",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueTypeInvalid": "Invalid value",
}
_DETAIL: Final = re.compile(
    r"field is immutable(?: when `immutable` is set)?"
    r"|may not be more than \d+ bytes|must be no more than \d+ (?:characters|bytes)"
    r"|a lowercase RFC 1123 subdomain must consist of"
    r"|a valid config key must consist of alphanumeric characters, '-', '_' or '\.'"
    r"|a valid label must be an empty string or consist of alphanumeric characters"
)
_MANAGER: Final = re.compile(r'conflict with "(?:[^"\\]|\\.)*"')
_CONFLICT: Final = "FieldManagerConflict"

# What the YAML parser quotes; `*text` as a value is read as the anchor `text`.
_QUOTED: Final = re.compile(r"(?<=anchor )'.*'|`.*`|(?<=unsupported value: ).*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cause:
    """One of the `details.causes` of an answer."""

    field: str
    message: str
    reason: str


@dataclass(frozen=True, slots=True)
class ErrorText:
    """What an answer says: its message and its causes."""

    message: str
    causes: tuple[Cause, ...]


def redacted(words: ErrorText, about: JsonObject, *, confidential: bool = False) -> ErrorText:
    """Return the redacted error of a rejected request.

    Args:
        words: What the API server says.
        about: The object as it was sent. Where none was sent, as by a deletion, apiVersion and kind
            alone.
        confidential: Whether it may have the value of a secret parameter, whatever its kind.

    Returns:
        The words as they are, or of a Secret names of fields and what is wrong with them.
    """
    if not confidential and not is_secret(about):
        return words
    causes = tuple(_causes(words))
    return ErrorText(_message(words.message, causes, about), causes)


def _message(message: str, causes: tuple[Cause, ...], sent: JsonObject) -> str:
    if message.startswith(_TYPED):
        faults = "; ".join(dict.fromkeys(_typed_faults(message, sent)))
        return f"{_TYPED}: {faults or _LEFT_OUT}"
    if message.startswith(_CONVERTED) or _UNREADABLE.match(message):
        fields = ", ".join(_no_base64(sent))
        reason = f"illegal base64 data in {fields}" if fields else _LEFT_OUT
        return f"{_CONVERTED}: {reason}"
    if phrase := _PHRASES.match(message[:_READ]):
        return f"{phrase[0]}; {_LEFT_OUT}" if _by_admission(message) else phrase[0]
    faults = ", ".join(f"{cause.field}: {cause.message}" for cause in causes)
    kind = _shown(str(sent.get("kind") or "the object"))
    return f"{kind} is invalid: {faults}" if faults else _LEFT_OUT


def _causes(words: ErrorText) -> Iterator[Cause]:
    """Yield the causes that the API server itself found, without values."""
    if _by_admission(words.message):
        # Webhooks and policies may quote anything in theirs.
        return
    for cause in words.causes[:_MOST_FIELDS]:
        if cause.reason == _CONFLICT and (manager := _MANAGER.match(cause.message[:_READ])):
            yield Cause(_shown(without_keys(cause.field[:_READ])), manager[0], cause.reason)
        elif (said := _INVALID.get(cause.reason)) is not None:
            # What is wrong follows the value, which has any length.
            detail = _DETAIL.search(cause.message[-_READ:])
            text = f"{said}: {detail[0]}" if detail else said
            yield Cause(_shown(cause.field[:_READ]), text, cause.reason)


def _by_admission(message: str) -> bool:
    return _BY_ADMISSION.match(message[:_READ]) is not None


def _typed_faults(message: str, sent: JsonObject) -> Iterator[str]:
    """Yield the fields of an object that a schema error of server-side apply names."""
    _, _, text = message.partition(": ")
    at = len(_SEVERAL) if text.startswith(_SEVERAL) else 1
    for _ in range(_MOST_FIELDS):
        field, end = _field_at(sent, text, at)
        if field:
            fault = _FAULT.match(text, end)
            yield f".{_shown(field)}: {fault[1] if fault else 'not as the schema has it'}"
        next_fault = text.find("\n  .", end)
        if next_fault < 0:
            return
        at = next_fault + len("\n  .")


def _field_at(sent: JsonObject, text: str, at: int) -> tuple[str, int]:
    """Return the field of an object whose path stands at a place of a text, and its end.

    The path is walked, not parsed: only what the object names itself can come out. A Secret has
    three levels at most, such as `metadata.labels.app`.
    """
    path: list[str] = []
    node: Json = sent
    for _ in range(3):
        name = _name_at(node, text, at)
        if name is None:
            break
        path.append(name)
        at += len(name)
        if not text.startswith(".", at):
            break
        node, at = node[name], at + 1
    return ".".join(path), at


def _name_at(node: Json, text: str, at: int) -> str | None:
    """Return the longest name of a mapping's field that stands at a place of a text."""
    if not isinstance(node, dict):
        return None
    # The longest first, as keys contain dots: `a.b` may stand beside `a`.
    for end in range(min(at + _LONGEST_NAME, len(text) - 1), at, -1):
        if text[end] in ".:[" and text[at:end] in node:
            return text[at:end]
    return None


def _no_base64(sent: JsonObject) -> list[str]:
    """Return the fields in `data` that are no base64."""
    data = sent.get("data")
    values = data.items() if isinstance(data, dict) else ()
    wrong = (f"data.{_shown(name)}" for name, value in values if not _is_base64(value))
    return [name for name, _ in zip(wrong, range(_MOST_FIELDS), strict=False)]


def _is_base64(value: Json) -> bool:
    if not isinstance(value, str):
        return value is None
    # Go's decoder skips the ends of lines, Python's does not.
    try:
        base64.b64decode(value.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def without_keys(path: str) -> str:
    """Return the path of a field without the values that identify items of lists."""
    return re.sub(r"\[[^\[\]]*=.*", "[...]", path, flags=re.DOTALL)


def without_quotes(problem: str) -> str:
    """Return what a YAML parser says without what it quotes: the document may be a Secret."""
    return _QUOTED.sub("...", problem)


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_SHOWN else f"{flat[:_LONGEST_SHOWN]}..."
