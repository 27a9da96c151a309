"""What `-v` shows on stderr, between the messages of the command, in the form of kubectl.

2 the log of `kubeio`, 4 all of it, 6 one line for each request, 7 headers as well, 8 the first
1,024 characters of bodies, 9 and 10 the first 10,240, and where an error comes from. Credentials
and what looks like a secret are never shown.
"""

import argparse
import logging
import os
import sys
import traceback
from datetime import datetime
from http import HTTPStatus
from typing import Final

import orjson

from kubeio.connection.tracing import TRACED_BYTES, Answered, Sent, Tracer
from kubeio.types import Headers
from kudo.redaction.objects import Redactor

_HEADERS: Final = 7
_BODIES: Final = 8
_LONG_BODIES: Final = 9
_SHORT: Final = 1024
_LONG: Final = 10240
_LOGGED = 2
_DEBUGGED = 4
_TRACED = 6
_WITH_TRACEBACK = 9


def log_to_stderr(level: int) -> None:
    """Show what `kubeio` logs, from level 2 on, and all of it from 4 on."""
    if level < _LOGGED:
        return
    shown = logging.DEBUG if level >= _DEBUGGED else logging.INFO
    logging.basicConfig(stream=sys.stderr, format="%(name)s: %(message)s")
    logging.getLogger("kubeio").setLevel(shown)


def tracer_of(args: argparse.Namespace) -> Tracer | None:
    """Return what prints requests, from level 6 on."""
    if args.v < _TRACED:
        return None
    return RequestLog(args.v)


def show_traceback(level: int) -> None:
    """Print where the present exception comes from, from level 9 on."""
    if level < _WITH_TRACEBACK:
        return
    traceback.print_exc()


class RequestLog:
    """A tracer that prints; see `kubeio.connection.tracing.Tracer`.

    Attributes:
        bodies: Whether bodies of answers are printed.
    """

    def __init__(self, level: int) -> None:
        self.bodies = level >= _BODIES
        self._headers = level >= _HEADERS
        self._longest = _LONG if level >= _LONG_BODIES else _SHORT
        self._redactor = Redactor()

    def sent(self, request: Sent) -> None:
        if not self._headers:
            return
        if self.bodies and request.body:
            self._show_body("Request", request.body, len(request.body))
        self._say(f"{request.method} {request.url}")
        self._show_headers("Request", request.headers)

    def answered(self, request: Sent, answer: Answered) -> None:
        outcome = f"{_status(answer)} in {answer.seconds * 1000:.0f} milliseconds"
        if not self._headers:
            self._say(f"{request.method} {request.url} {outcome}")
            return
        self._say(f"Response Status: {outcome}")
        if self.bodies:
            self._show_headers("Response", answer.headers)

    def body(self, request: Sent, content: bytes, size: int) -> None:
        del request
        if size:
            self._show_body("Response", content, size)

    def _show_headers(self, whose: str, headers: Headers) -> None:
        self._say(f"{whose} Headers:")
        for name, value in sorted(headers):
            self._say(f"    {name.title()}: {value}")

    def _show_body(self, whose: str, content: bytes, size: int) -> None:
        text = self._readable(content, size)
        cut = len(text) - self._longest
        shown = f"{text[: self._longest]} [truncated {cut} chars]" if cut > 0 else text
        self._say(f"{whose} Body: {shown}")

    def _readable(self, content: bytes, size: int) -> str:
        # A part of a body cannot be redacted, since it is not known what its values belong to.
        if size > min(len(content), TRACED_BYTES) or self._redactor.known.overflow:
            return f"({size} bytes)"
        try:
            body = orjson.loads(content)
        except orjson.JSONDecodeError:
            return self._redactor.text(content.decode("utf-8", "replace"))
        if not isinstance(body, dict):
            return f"({size} bytes)"
        items = body.get("items")
        listed = items if isinstance(items, list) else [body]
        self._redactor.learn(_with_kind(body, item) for item in listed if isinstance(item, dict))
        if isinstance(items, list):
            body["items"] = [_with_kind(body, item) for item in items if isinstance(item, dict)]
        return orjson.dumps(self._redactor.redact(body)).decode()

    def _say(self, text: str) -> None:
        now = datetime.now().astimezone()
        line = f"I{now:%m%d %H:%M:%S.%f} {os.getpid():7} kubectl-kudo] {self._redactor.text(text)}"
        print(line, file=sys.stderr, flush=True)


def _with_kind(listed: dict[str, object], item: dict[str, object]) -> dict[str, object]:
    """Return an item of a list with its kind, which the API server leaves out."""
    kind = str(listed.get("kind") or "").removesuffix("List")
    return {"apiVersion": listed.get("apiVersion"), "kind": kind, **item}


def _status(answer: Answered) -> str:
    if not answer.status:
        return f"failed: {answer.failure}"
    try:
        return f"{answer.status} {HTTPStatus(answer.status).phrase}"
    except ValueError:
        return str(answer.status)
