"""Sprig's functions on URLs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.functions.data.reflection import kind_name
from gotemplate.golang import gourl
from gotemplate.types.signature import MAP, STRING, Function


def url_parse(text: str) -> dict[str, object]:
    """Return the parts of a URL.

    Raises:
        FunctionError: the text is not a URL.
    """
    try:
        url = gourl.parse(text)
    except gourl.UrlError as error:
        raise FunctionError(f"unable to parse url: {error}") from error
    return {
        "scheme": url.scheme,
        "host": url.host,
        "hostname": url.hostname,
        "path": url.path,
        "query": url.query,
        "opaque": url.opaque,
        "fragment": url.fragment,
        "userinfo": url.userinfo or "",
    }


def url_join(parts: Mapping[str, object] | None) -> str:
    """Build a URL from its parts; `hostname` is ignored.

    Raises:
        FunctionError: a part is no text, or the user and password may not be in a URL.
    """
    found = parts or {}
    url = gourl.Url(
        scheme=_part(found, "scheme"),
        host=_part(found, "host"),
        path=_part(found, "path"),
        query=_part(found, "query"),
        opaque=_part(found, "opaque"),
        fragment=_part(found, "fragment"),
    )
    userinfo = _part(found, "userinfo")
    return str(replace(url, userinfo=_userinfo(userinfo)) if userinfo else url)


def _part(parts: Mapping[str, object], name: str) -> str:
    value = parts.get(name, "")
    if value is None:
        raise FunctionError("runtime error: invalid memory address or nil pointer dereference")
    if not isinstance(value, str):
        kind = kind_name(value)
        raise FunctionError(f"unable to parse {name} key, must be of type string, but {kind} found")
    return value


def _userinfo(text: str) -> str | None:
    try:
        return gourl.parse(f"proto://{text}@host").userinfo
    except gourl.UrlError as error:
        raise FunctionError(f"unable to parse userinfo in dict: {error}") from error


FUNCTIONS: Final = (
    Function("urlParse", url_parse, (STRING,)),
    Function("urlJoin", url_join, (MAP,)),
)
