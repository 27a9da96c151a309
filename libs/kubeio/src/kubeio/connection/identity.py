"""Impersonation of users and service accounts.

Invariant: an identity is validated when it is created, so text of a tenant can neither add a header
nor name another account.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

from kubeio.names import is_label, is_subdomain

Headers = tuple[tuple[str, str], ...]
"""Names and values of HTTP headers; a name may be repeated."""

_PREFIX: Final = "impersonate-"
_VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")


@dataclass(frozen=True, slots=True)
class Identity:
    """A user and its groups, for impersonation.

    The credential of the client needs the verb ``impersonate`` on the user and on each group.

    Attributes:
        user: Name of the user.
        groups: Names of its groups; the API server adds ``system:authenticated``.

    Raises:
        ValueError: a name is empty, has characters other than printable ASCII, or begins or ends
            with a space; HTTP headers cannot carry it unchanged.
    """

    user: str
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check("user", self.user, _is_header_value)
        for group in self.groups:
            _check("group", group, _is_header_value)

    @classmethod
    def service_account(cls, namespace: str, name: str) -> Self:
        """Return the identity of a service account.

        It has no groups: the API server adds those of a service account. Groups that are sent need
        the right to impersonate groups, which no namespace bounds.

        Raises:
            ValueError: a name is not valid for a namespace or for a service account.
        """
        _check("namespace", namespace, is_label)
        _check("service account", name, is_subdomain)
        return cls(f"system:serviceaccount:{namespace}:{name}")

    @property
    def headers(self) -> Headers:
        """Return the headers that make the API server act as this identity."""
        groups = (("Impersonate-Group", group) for group in self.groups)
        return (("Impersonate-User", self.user), *groups)


def impersonating(headers: Headers, identity: Identity | None) -> Headers:
    """Return `headers` with the impersonation of `identity` in place of theirs.

    None returns them unchanged.
    """
    if identity is None:
        return headers
    # A group, uid or extra of another user that stays would give its rights to this identity.
    others = (header for header in headers if not header[0].lower().startswith(_PREFIX))
    return (*others, *identity.headers)


def _is_header_value(text: str) -> bool:
    return _VALUE.fullmatch(text) is not None


def _check(what: str, text: str, is_valid: Callable[[str], bool]) -> None:
    if not is_valid(text):
        # Cut to 40 characters: the text may come from an object of a tenant.
        raise ValueError(f"identity: {text[:40]!r} cannot be the name of a {what}")
