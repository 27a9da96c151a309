"""What the fuzzing of the routes sends; no tests of its own.

Values of parameters carry CANARY, so that it can be seen where they end up. Nothing else does.
"""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from kudo.api import JsonObject
from tests.unit.webhook.harness import instance, operator_version, review

CANARY = "canary-5d41402a"
VERSIONS = {
    ("ns", "first-1"): operator_version(),
    ("ns", "first-2"): operator_version(plans={"deploy": {}, "custom": {}}),
}
INSTANCES: JsonObject = {"group": "kudo.dev", "version": "v1beta1", "resource": "instances"}
JSON = "application/json"
Parent = dict[Any, Any] | list[Any]


@dataclass(frozen=True)
class Sent:
    """A request as it goes over the wire.

    Attributes:
        body: The bytes.
        content_type: Its header; None leaves it out.
        pieces: In how many chunks the body goes; 0 announces its length instead.
    """

    body: bytes = field(repr=False)
    content_type: str | None = JSON
    pieces: int = 0

    def chunks(self) -> Iterator[bytes]:
        size = max(1, -(-len(self.body) // max(1, self.pieces)))
        return (self.body[at : at + size] for at in range(0, len(self.body), size))


# Reviews that an API server could send

_values = st.sampled_from([CANARY, f"{CANARY}-2", f"1{CANARY}", "3", ""])
_parameters = st.dictionaries(st.sampled_from(["REPLICAS", "PORT", "OTHER"]), _values)
_runs = st.fixed_dictionaries(
    {},
    optional={
        "planName": st.sampled_from(["deploy", "update", "custom", "cleanup", "nosuch", ""]),
        "uid": st.sampled_from(["A", "B", ""]),
        "status": st.sampled_from(["NEVER_RUN", "IN_PROGRESS", "COMPLETE", "FATAL_ERROR", ""]),
        "cancelledBy": st.sampled_from(["somebody", "another", ""]),
    },
)
_entries = st.dictionaries(
    st.sampled_from(["deploy", "custom", "cleanup"]),
    st.fixed_dictionaries(
        {"status": st.sampled_from(["IN_PROGRESS", "COMPLETE", "FATAL_ERROR", "odd", ""])},
        optional={"uid": st.sampled_from(["A", "B"]), "name": st.just("deploy")},
    ),
)
_FINALIZERS: tuple[Any, ...] = ([], ["kudo.dev.instance.cleanup"], ["other"], None)
_REFERENCES: tuple[Any, ...] = (
    *({"name": "first-1"}, {"name": "first-2"}, {"name": "first-1", "namespace": "ns"}),
    *({"name": "first-9"}, {"name": ""}, {}, None),
)


@st.composite
def _instances(draw: st.DrawFn) -> JsonObject:
    found = instance(draw(_parameters))
    found["spec"]["operatorVersion"] = draw(st.sampled_from(_REFERENCES))
    found["spec"]["planExecution"] = draw(st.one_of(st.none(), _runs))
    found["metadata"]["finalizers"] = draw(st.sampled_from(_FINALIZERS))
    if draw(st.booleans()):
        found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    found["status"] = {"planStatus": draw(_entries)}
    return found


@st.composite
def _operations(draw: st.DrawFn) -> JsonObject:
    """Draw an operation, the objects that belong to it, and sometimes one that does not."""
    operation = draw(st.sampled_from(["CREATE", "UPDATE", "UPDATE", "UPDATE", "DELETE", "CONNECT"]))
    new = draw(_instances()) if operation in {"CREATE", "UPDATE"} else None
    old = draw(_instances()) if operation in {"UPDATE", "DELETE"} else None
    if old is not None and draw(st.integers(0, 7)) == 0:
        old = None
    return {"operation": operation, "object": new, "oldObject": old}


_RESOURCES: tuple[JsonObject, ...] = (
    *(INSTANCES, INSTANCES, INSTANCES),
    {"group": "", "version": "v1", "resource": "pods"},
    INSTANCES | {"resource": "operatorversions"},
    INSTANCES | {"group": "other.dev"},
)


@st.composite
def reviews(draw: st.DrawFn) -> JsonObject:
    """Draw an AdmissionReview: mostly one about an Instance, with what belongs to it."""
    fields: JsonObject = {
        **draw(_operations()),
        "uid": draw(st.text(min_size=1, max_size=4)),
        "resource": draw(st.sampled_from(_RESOURCES)),
        "subResource": draw(st.sampled_from(["", "", "", "status", "scale"])),
        "dryRun": draw(st.booleans()),
        "userInfo": draw(st.sampled_from([{"username": "somebody"}, {}, None])),
    }
    found = review({}, version=draw(st.sampled_from(["v1", "v1beta1"])), **fields)
    if fields["subResource"] == "" and draw(st.booleans()):
        del found["request"]["subResource"]
    return copy.deepcopy(found)


# What nobody should send

_JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 7, 2**31, 2**63, -(2**63) - 1, 2**80, 0.5, 1e308),
    *("", "x", "FATAL_ERROR", "\0", "é\u2028\U0001f600", "../..", "a\nb\r\nc", "'; --", "{{.}}"),
    *([], [None], ["x"], [[]], {}, {"": ""}, {"name": None}, {"x": {"y": []}}),
)


def _nested(levels: int) -> Any:
    found: Any = "x"
    for level in range(levels):
        found = [found] if level % 2 else {"x": found}
    return found


_huge = st.builds(str.__mul__, st.sampled_from(["a", "é", "\n", '"']), st.just(70_000))
# Copies, since what is drawn is damaged in its turn.
_odd_values = st.sampled_from(_JUNK).map(copy.deepcopy)
_junk = st.one_of(
    *(_odd_values, _odd_values, st.text(max_size=8)),
    st.builds(_nested, st.integers(1, 200)),
)


def _places(value: Any) -> Iterator[tuple[Parent, Any]]:
    """Yield each container in a JSON value with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


@st.composite
def _damaged(draw: st.DrawFn) -> JsonObject:
    """Draw a review in which up to three places hold something else, or nothing."""
    found = draw(reviews())
    for _ in range(draw(st.integers(0, 3))):
        places = list(_places(found))
        if places:
            parent, key = draw(st.sampled_from(places))
            _damage(draw, parent, key)
    return found


def _damage(draw: st.DrawFn, parent: Parent, key: Any) -> None:
    what = draw(st.sampled_from(["replace", "replace", "replace", "drop", "wrap", "add", "huge"]))
    if what == "replace":
        parent[key] = draw(_junk)
    elif what == "drop":
        del parent[key]
    elif what == "wrap":
        parent[key] = [parent[key]]
    elif what == "huge":
        parent[key] = draw(_huge)
    elif isinstance(parent, dict):
        parent[draw(st.text(max_size=4))] = draw(_junk)


def _encoded(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


_HOLES = ("NaN", "-Infinity", "1e999999", "01", "nul", "'x'", '"\\ud800"', '"\\x"', '"\t"', "")
_DEEP = "[" * 20_000 + "]" * 20_000


@st.composite
def _no_json(draw: st.DrawFn) -> bytes:
    """Draw the bytes of a review with something in them that JSON does not have."""
    document = draw(reviews())
    parent, key = draw(st.sampled_from(list(_places(document))))
    parent[key] = "\x01hole"
    hole = draw(st.sampled_from([*_HOLES, _DEEP]))
    return _encoded(document).replace(b'"\\u0001hole"', hole.encode())


@st.composite
def _cut(draw: st.DrawFn) -> bytes:
    body = _encoded(draw(reviews()))
    return body[: draw(st.integers(0, len(body) - 1))]


@st.composite
def _with_odd_bytes(draw: st.DrawFn) -> bytes:
    body = _encoded(draw(reviews()))
    at = draw(st.integers(0, len(body)))
    return body[:at] + draw(st.binary(min_size=1, max_size=4)) + body[at:]


@st.composite
def _with_duplicate_keys(draw: st.DrawFn) -> bytes:
    """Draw a review in which an object names a key twice; the last one counts."""
    body = _encoded(draw(reviews()))
    key = draw(st.sampled_from(["apiVersion", "request", "uid", "object", "operation", "spec"]))
    value = json.dumps(draw(st.sampled_from(_JUNK)))
    return body.replace(f'"{key}": '.encode(), f'"{key}": {value}, "{key}": '.encode())


_RECODE: Mapping[str, Callable[[bytes], bytes]] = {
    "as it is": bytes,
    "utf-16": lambda body: body.decode().encode("utf-16"),
    "byte order mark": lambda body: b"\xef\xbb\xbf" + body,
    "blanks": lambda body: b" \n\t\r" * 100 + body + b"\n\n",
    "twice": lambda body: body + body,
    "in a list": lambda body: b"[" + body + b"]",
    "as a string": lambda body: json.dumps(body.decode()).encode(),
}


@st.composite
def _recoded(draw: st.DrawFn) -> bytes:
    return _RECODE[draw(st.sampled_from(sorted(_RECODE)))](_encoded(draw(reviews())))


bodies: st.SearchStrategy[bytes] = st.one_of(
    *(st.builds(_encoded, _damaged()) for _ in range(4)),
    *(_no_json(), _cut(), _with_odd_bytes(), _with_duplicate_keys(), _recoded()),
    *(st.binary(max_size=64), st.builds(_encoded, _junk)),
)
_TYPES = (
    *(JSON, JSON, JSON, None, "", "text/plain", "application/json; charset=utf-16"),
    *("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/yaml"),
)
requests: st.SearchStrategy[Sent] = st.builds(
    Sent, bodies, st.sampled_from(_TYPES), st.sampled_from([0, 0, 0, 1, 3, 9])
)
