"""Refusals of an API server: Status objects as Kubernetes words them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kubeio.types import JsonObject


class Cause(NamedTuple):
    """An entry of `details.causes`."""

    reason: str
    message: str
    field: str = ""


class Names(NamedTuple):
    """What a refusal says it is about: group, plural name of the resource, name of the object."""

    group: str = ""
    plural: str = ""
    name: str = ""

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


class StatusError(Exception):
    """A request is refused; the HTTP answer is made of this.

    Args:
        about: What `details` name.
        retry_after: Seconds.
        page: Whether the answer is a text instead of a Status.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        about: Names | None = None,
        uid: str = "",
        causes: Sequence[Cause] = (),
        retry_after: int = 0,
        page: bool = False,
    ) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code, self.reason, self.message = code, reason, message
        self.about, self.uid, self.causes = about, uid, tuple(causes)
        self.retry_after, self.page = retry_after, page

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(self.retry_after)} if self.retry_after else {}

    def body(self) -> JsonObject:
        details = self._details()
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": details} if details else {}),
            "code": self.code,
        }

    def _details(self) -> JsonObject:
        about = self.about or Names()
        found = {
            "name": about.name,
            "group": about.group,
            "kind": about.plural,
            "uid": self.uid,
            "causes": [
                {"reason": cause.reason, "message": cause.message}
                | ({"field": cause.field} if cause.field else {})
                for cause in self.causes
            ],
            "retryAfterSeconds": self.retry_after,
        }
        return {key: value for key, value in found.items() if value}


def success(about: Names, uid: str) -> JsonObject:
    """Return the Status that answers the deletion of an object that is gone."""
    details = {"name": about.name, "group": about.group, "kind": about.plural, "uid": uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def not_found(about: Names) -> StatusError:
    return StatusError(404, "NotFound", f'{about.resource} "{about.name}" not found', about=about)


def no_such_resource() -> StatusError:
    """Return the answer to an unknown resource in a group that is built in."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def no_such_path() -> StatusError:
    """Return the answer to a path that nobody serves; it is no Status object."""
    return StatusError(404, "", "404 page not found", page=True)


def method_not_allowed() -> StatusError:
    text = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", text)


def already_exists(about: Names, *, deleted: bool) -> StatusError:
    state = "object is being deleted: " if deleted else ""
    text = f'{state}{about.resource} "{about.name}" already exists'
    return StatusError(409, "AlreadyExists", text, about=about)


def conflict(about: Names, why: str) -> StatusError:
    text = f'Operation cannot be fulfilled on {about.resource} "{about.name}": {why}'
    return StatusError(409, "Conflict", text, about=about)


def modified(about: Names) -> StatusError:
    return conflict(
        about,
        "the object has been modified; please apply your changes to the latest version and try"
        " again",
    )


def forbidden(about: Names, why: str, *causes: Cause) -> StatusError:
    text = f'{about.resource} "{about.name}" is forbidden: {why}'
    return StatusError(403, "Forbidden", text, about=about, causes=causes)


def invalid(kind: str, group: str, name: str, *causes: Cause) -> StatusError:
    """Return a 422 whose causes name fields; its details name the kind, not the resource."""
    texts = [*dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes)]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    subject = f"{kind}.{group}" if group else kind
    return StatusError(
        422,
        "Invalid",
        f'{subject} "{name}" is invalid: {listed}',
        about=Names(group, kind, name),
        causes=causes,
    )


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def unsupported_media_type(message: str) -> StatusError:
    return StatusError(415, "UnsupportedMediaType", message)


def too_many_requests(seconds: int) -> StatusError:
    text = "the server has received too many requests and has asked us to try again later"
    return StatusError(429, "TooManyRequests", text, retry_after=seconds)


def internal_error(message: str) -> StatusError:
    return StatusError(500, "InternalError", f"Internal error occurred: {message}")
