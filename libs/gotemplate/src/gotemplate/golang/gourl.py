"""URLs as Go's net/url reads and writes them."""

import ipaddress
import re
import string
from dataclasses import dataclass, replace
from typing import Final

from gotemplate.golang.literals import quote
from gotemplate.golang.values import from_bytes, to_bytes

_UNRESERVED: Final = string.ascii_letters + string.digits + "-_.~"
_PATH: Final = frozenset(to_bytes(_UNRESERVED + "$&+,/:;=@"))
_FRAGMENT: Final = frozenset(to_bytes(_UNRESERVED + "$&+,/:;=?@!()*"))
_USER: Final = frozenset(to_bytes(_UNRESERVED + "$&+,;="))
_HOST: Final = frozenset(to_bytes(_UNRESERVED + "!$&'()*+,;=:[]<>\""))
# What may stand unescaped in a part that is kept as it was written.
_ENCODED: Final = frozenset(b"!$&'()*+,;=:@[]%")

_CONTROL: Final = re.compile("[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):", re.ASCII)
_USERINFO: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", re.ASCII)
_PORT: Final = re.compile("(?::[0-9]*)?", re.ASCII)
_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})?")
# In these schemes everything behind the first colon of a host has to be a port.
_STRICT: Final = frozenset({"http", "https"})
_ESCAPE_LENGTH: Final = 3


class UrlError(ValueError):
    """The text is not a URL; the error's text is Go's."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL, unescaped; `raw_path` and `raw_fragment` are as they were written.

    Attributes:
        userinfo: name and password as they are written in a URL; None when there are none.
        no_host: whether there are no slashes for a host that is empty.
        force_query: whether a question mark stands before an empty query.
    """

    scheme: str = ""
    opaque: str = ""
    userinfo: str | None = None
    host: str = ""
    path: str = ""
    raw_path: str = ""
    query: str = ""
    fragment: str = ""
    raw_fragment: str = ""
    no_host: bool = False
    force_query: bool = False

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        host, colon, port = self.host.rpartition(":")
        if not colon or not _PORT.fullmatch(colon + port):
            host = self.host
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    def __str__(self) -> str:
        start = f"{self.scheme}:" if self.scheme else ""
        middle = self.opaque or self._hierarchy(start)
        query = f"?{self.query}" if self.force_query or self.query else ""
        raw = _kept(self.raw_fragment, self.fragment, _FRAGMENT)
        return f"{start}{middle}{query}{'#' + raw if self.fragment else ''}"

    def _hierarchy(self, start: str) -> str:
        text = ""
        has_host = bool(self.host) or self.userinfo is not None
        if has_host or (self.scheme and not self.no_host and self.path):
            user = "" if self.userinfo is None else f"{self.userinfo}@"
            text = f"//{user}{escape(self.host, _HOST)}"
        path = "*" if self.path == "*" else _kept(self.raw_path, self.path, _PATH)
        if path and not path.startswith("/") and self.host:
            text += "/"
        # RFC 3986, 4.2: the part before the colon would be read as a scheme.
        if not start and not text and ":" in path.partition("/")[0]:
            text = "./"
        return text + path


def escape(text: str, kept: frozenset[int]) -> str:
    """Encode every byte as `%XX` except those to keep."""
    return "".join([chr(byte) if byte in kept else f"%{byte:02X}" for byte in to_bytes(text)])


def _kept(raw: str, text: str, kept: frozenset[int]) -> str:
    """Return a part as it was written if that is valid and means the text; else escape the text."""
    # `%2F` stays what it is: unescaped it would separate parts of a path.
    if raw and all(byte in kept or byte in _ENCODED for byte in to_bytes(raw)):
        try:
            if unescape(raw) == text:
                return raw
        except UrlError:
            pass
    return escape(text, kept)


def unescape(text: str) -> str:
    """Decode `%XX` to bytes.

    Raises:
        UrlError: a percent sign without two hexadecimal digits.
    """
    if "%" not in text:
        return text
    data = to_bytes(text)
    for match in _ESCAPE.finditer(data):
        if match[1] is None:
            raise _bad_escape(from_bytes(data[match.start() : match.start() + _ESCAPE_LENGTH]))
    return from_bytes(_ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), data))


def _bad_escape(text: str) -> UrlError:
    return UrlError(f"invalid URL escape {quote(text)}")


def parse(text: str) -> Url:
    """Read a URL.

    Raises:
        UrlError: the text is not a URL; the error's text is Go's.
    """
    # Go names the text without its fragment in errors of the rest, and all of it in the fragment's.
    whole, _, fragment = text.partition("#")
    try:
        url = _parse(whole)
    except UrlError as error:
        raise UrlError(f"parse {quote(whole)}: {error}") from error
    if not fragment:
        return url
    try:
        decoded = unescape(fragment)
    except UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from error
    return replace(url, fragment=decoded, raw_fragment=fragment)


def _parse(text: str) -> Url:
    if _CONTROL.search(text):
        raise UrlError("net/url: invalid control character in URL")
    if text == "*":
        return Url(path="*")
    scheme, rest = _scheme(text)
    # `http://host?` keeps its question mark when it is written.
    force_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        # A path without a slash behind a scheme is opaque, as in `mailto:user@host`.
        if scheme:
            return Url(scheme, rest, query=query, force_query=force_query)
        # Go refuses it, since it may be a scheme that is written wrong.
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    user, host, no_host = None, "", False
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        user, host = _authority(scheme, authority)
        rest = slash + path
    # `file:/path` is written as it was read, not as `file:///path`.
    elif scheme and rest.startswith("/"):
        no_host = True
    return Url(
        scheme,
        userinfo=user,
        host=host,
        path=unescape(rest),
        raw_path=rest,
        query=query,
        no_host=no_host,
        force_query=force_query,
    )


def _scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    match = _SCHEME.match(text)
    return (match[1].lower(), text[match.end() :]) if match else ("", text)


def _authority(scheme: str, text: str) -> tuple[str | None, str]:
    user, at, host = text.rpartition("@")
    # The host comes first: of two errors Go reports that one. A password may contain `@`.
    parsed = _host(scheme, host)
    return (userinfo(user) if at else None), parsed


def userinfo(text: str) -> str:
    """Read name and password, and write them as they are written in a URL.

    Raises:
        UrlError: a character or an escape that may not be in them.
    """
    if not _USERINFO.fullmatch(text):
        raise UrlError("net/url: invalid userinfo")
    name, colon, password = text.partition(":")
    return f"{escape(unescape(name), _USER)}{colon}{escape(unescape(password), _USER)}"


def _host(scheme: str, text: str) -> str:
    bracket = text.rfind("[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _literal(text)
    colon = text.find(":")
    if colon >= 0:
        _check_port(text[colon if scheme in _STRICT else text.rfind(":") :])
    return _unescaped_host(text)


def _literal(text: str) -> str:
    address, bracket, port = text[1:].rpartition("]")
    if not bracket:
        raise UrlError("missing ']' in host")
    _check_port(port)
    # RFC 6874: the percent sign before the zone of an IPv6 address is escaped itself.
    host, percent, zone = address.partition("%25")
    host_name = _unescaped_host(host) + (unescape(percent + zone) if percent else "")
    match _ip_version(host_name):
        # Brackets are for addresses with colons.
        case 4:
            raise UrlError("invalid IP-literal")
        case 0:
            raise UrlError(f"invalid host: ParseAddr({quote(host_name)}): unable to parse IP")
    return f"[{host_name}]{_unescaped_host(port)}"


def _ip_version(text: str) -> int:
    try:
        return ipaddress.ip_address(text).version
    except ValueError:
        return 0


def _check_port(text: str) -> None:
    if not _PORT.fullmatch(text):
        raise UrlError(f"invalid port {quote(text)} after host")


def _unescaped_host(text: str) -> str:
    """Read a host; in it only bytes beyond ASCII and the percent sign may be escaped."""
    data = to_bytes(text)
    position = 0
    while position < len(data):
        byte = data[position]
        if byte == ord("%"):
            _check_host_escape(from_bytes(data[position : position + _ESCAPE_LENGTH]))
            position += _ESCAPE_LENGTH
            continue
        if byte < 0x80 and byte not in _HOST:
            raise UrlError(f"invalid character {quote(chr(byte))} in host name")
        position += 1
    return unescape(text)


def _check_host_escape(text: str) -> None:
    match = _ESCAPE.fullmatch(to_bytes(text))
    # RFC 3986: an escape in a host stands for a byte beyond ASCII; RFC 6874 adds the percent sign.
    if match is None or match[1] is None or (int(match[1][:1], 16) < 8 and text != "%25"):
        raise _bad_escape(text)
