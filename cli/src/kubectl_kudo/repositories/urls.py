"""URLs of repositories and packages, the credentials for them, and what a download ends with.

KUDO_REPO_TOKEN                           a bearer token
KUDO_REPO_USERNAME, KUDO_REPO_PASSWORD    basic auth
$NETRC, ~/.netrc                          basic auth by host

Those of the environment are for the repository in use. They are never sent to another host, port
or scheme: neither after a redirect nor for a package that the index says to be elsewhere.
"""

import base64
import netrc
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.terminal import word
from kudo.packages.repositories.settings import Repository

TOKEN, USERNAME, PASSWORD = "KUDO_REPO_TOKEN", "KUDO_REPO_USERNAME", "KUDO_REPO_PASSWORD"
_PORTS = {"http": 80, "https": 443}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}

Origin = tuple[str, str, int | None]
"""Scheme, host and port: what credentials are for."""


def origin(url: str) -> Origin:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)


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


@dataclass(frozen=True, slots=True)
class Credentials:
    """What may be sent to the host of a repository.

    Attributes:
        url: The URL of the repository; empty if none is in use.
    """

    url: str = ""

    def header(self, url: str) -> str:
        """Return the value of the Authorization header for a URL; empty if there is none.

        Raises:
            CliError: the environment or the netrc file is invalid.
        """
        if not is_private(url):
            return ""
        if self.url and origin(url) == origin(self.url):
            token, username = os.environ.get(TOKEN, ""), os.environ.get(USERNAME, "")
            if token and username:
                raise CliError(f"set either {TOKEN} or {USERNAME} and {PASSWORD}, not both")
            if token:
                if not (token.isascii() and token.isprintable()):
                    raise CliError(f"{TOKEN} has characters that no HTTP header can have")
                return f"Bearer {token}"
            if username:
                return basic(username, os.environ.get(PASSWORD, ""))
        return _from_netrc(origin(url)[1])


def _from_netrc(host: str) -> str:
    given = os.environ.get("NETRC")
    path = Path(given or "~/.netrc").expanduser()
    try:
        entry = netrc.netrc(path).authenticators(host)
    except FileNotFoundError:
        return ""
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError) as error:
        # The message of the parser can contain a part of the password.
        line = f", line {error.lineno}" if isinstance(error, netrc.NetrcParseError) else ""
        raise CliError(f"cannot read {path}{line}: it is no valid netrc file") from None
    if entry is None:
        return ""
    login, account, password = entry
    return basic(login or account or "", password or "")


def basic(username: str, password: str) -> str:
    """Return the value of an Authorization header."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


class DownloadError(CliError):
    """A file could not be downloaded; the text names the URL without its credentials."""


class Unreachable(DownloadError):
    """No usable answer: the host may be back later. A copy in the cache may be used instead."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """The answer.

    Attributes:
        content: The file; None if it has not changed since the ETag that was sent.
        etag: Its ETag, to be sent the next time; empty if it has none.
    """

    content: bytes | None
    etag: str = ""


def too_large(url: str, limit: int) -> DownloadError:
    """Return the error of a file with more bytes than the limit."""
    return DownloadError(f"failed to fetch {shown_url(url)} : it is larger than {limit} bytes")
