"""Credentials for downloads: from the environment for the repository, else from netrc.

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

from kubectl_kudo.repositories.urls import is_private, origin
from kubectl_kudo.session.errors import CliError

TOKEN, USERNAME, PASSWORD = "KUDO_REPO_TOKEN", "KUDO_REPO_USERNAME", "KUDO_REPO_PASSWORD"


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
            given = _from_environment()
            if given:
                return given
        return _from_netrc(origin(url)[1])


def _from_environment() -> str:
    token, username = os.environ.get(TOKEN, ""), os.environ.get(USERNAME, "")
    if token and username:
        raise CliError(f"set either {TOKEN} or {USERNAME} and {PASSWORD}, not both")
    if token:
        return _checked(TOKEN, f"Bearer {token}")
    return basic(username, os.environ.get(PASSWORD, "")) if username else ""


def _from_netrc(host: str) -> str:
    given = os.environ.get("NETRC")
    path = Path(given or "~/.netrc").expanduser()
    try:
        found = netrc.netrc(path).authenticators(host)
    except FileNotFoundError:
        return ""
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError) as error:
        # The message of the parser can contain a part of the password.
        line = f", line {error.lineno}" if isinstance(error, netrc.NetrcParseError) else ""
        raise CliError(f"cannot read {path}{line}: it is no valid netrc file") from None
    if found is None:
        return ""
    login, account, password = found
    return basic(login or account or "", password or "")


def basic(username: str, password: str) -> str:
    """Return the value of an Authorization header."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def _checked(name: str, value: str) -> str:
    if not (value.isascii() and value.isprintable()):
        raise CliError(f"{name} has characters that no HTTP header can have")
    return value
