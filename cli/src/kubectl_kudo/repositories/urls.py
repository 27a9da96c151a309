"""URLs of repositories and packages: joining, comparing and showing them."""

from urllib.parse import SplitResult, urlsplit, urlunsplit

from kubectl_kudo.session.terminal import word
from kudo.packages.repositories.settings import Repository

_PORTS = {"http": 80, "https": 443}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}

Origin = tuple[str, str, int | None]
"""Scheme, host and port: what credentials are for."""


def origin(url: str) -> Origin:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", _port(parts)


def _port(parts: SplitResult) -> int | None:
    return parts.port or _PORTS.get(parts.scheme)


def is_remote(url: str) -> bool:
    return urlsplit(url).scheme in _PORTS


def is_private(url: str) -> bool:
    """Return whether nobody else can read what is sent: with TLS, or on this machine."""
    scheme, host, _ = origin(url)
    return scheme == "https" or host in _LOOPBACK


def below(base: str, name: str) -> str:
    """Return the URL of a file in the folder of a URL, whose query is kept."""
    parts = urlsplit(base)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{name}"))


def shown_url(url: str) -> str:
    """Return a URL for messages: without credentials, which userinfo and queries may be."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the URL"
    host = parts.netloc.rpartition("@")[2]
    query = "..." if parts.query else ""
    return word(urlunsplit((parts.scheme, host, parts.path, query, "")))


def shown_place(repository: Repository) -> str:
    """Return where packages of a repository come from, for lists."""
    if repository.is_built_in:
        return "(packages that come with kubectl kudo)"
    return shown_url(repository.url)


def fault_of(url: str) -> str:
    """Return why a URL cannot be downloaded from; empty if it can."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"not a URL: {error}"
    if parts.scheme not in {"http", "https", "file"}:
        return "not a URL that begins with https://, http:// or file://"
    if parts.scheme == "file":
        return "" if parts.netloc in {"", "localhost"} else "a file URL must not name a host"
    return "" if parts.hostname and port != 0 else "the URL has no host"
