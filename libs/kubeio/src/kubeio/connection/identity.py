"""Whom a request acts as: users and service accounts that a client impersonates.

Invariants: an identity is checked when it is made, so that no text of a tenant can add a header,
or name another account than the one that it seems to name.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

Headers = tuple[tuple[str, str], ...]
"""Names and values of HTTP headers; a name may be repeated."""

_PREFIX: Final = "impersonate-"
_VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_NAMESPACE: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_NAME: Final = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Identity:
    """A user and its groups, as the API server's authorization sees them.

    The client's own credential needs the right to ``impersonate`` the user and each group.

    Attributes:
        user: Name of the user.
        groups: Names of its groups; the API server adds ``system:authenticated`` by itself.

    Raises:
        ValueError: a name is empty, or holds what a header cannot carry unchanged: characters
            other than printable ASCII, a space at its start or end.
    """

    user: str
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _checked("user", self.user, _VALUE)
        for group in self.groups:
            _checked("group", group, _VALUE)

    @classmethod
    def service_account(cls, namespace: str, name: str) -> Self:
        """Return the identity of a service account.

        It names no groups: the API server adds those of a service account by itself, and asks for
        the right to impersonate each group that is named, which no namespace would bound.

        Raises:
            ValueError: one of them cannot be the name of a namespace or of a service account.
        """
        _checked("namespace", namespace, _NAMESPACE)
        _checked("service account", name, _NAME)
        return cls(f"system:serviceaccount:{namespace}:{name}")

    @property
    def headers(self) -> Headers:
        """Return the headers that make the API server act as this identity."""
        groups = (("Impersonate-Group", group) for group in self.groups)
        return (("Impersonate-User", self.user), *groups)


def impersonating(headers: Headers, identity: Identity | None) -> Headers:
    """Return `headers` with those of `identity` in the place of any other impersonation.

    None returns them as they are.
    """
    if identity is None:
        return headers
    # A group, uid or extra left over from another user would lend its rights to this one.
    others = (header for header in headers if not header[0].lower().startswith(_PREFIX))
    return (*others, *identity.headers)


def _checked(what: str, text: str, pattern: re.Pattern[str]) -> None:
    if pattern.fullmatch(text) is None:
        # At most 40 characters: it may come from an object of a tenant.
        raise ValueError(f"identity: {text[:40]!r} cannot be the name of a {what}")
