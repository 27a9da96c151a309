"""Sprig's encodings, checksums and functions on URLs and JSON, with `toYaml` and `fromYaml`.

Operators expect the last two beside Sprig's. Decoding invalid input returns the text of Go's error
instead of raising one. The names of JSON and YAML without `must` swallow errors: what cannot be
written is "", what cannot be read is nil or as much of it as could be read. Their writers recurse,
so a value is measured before it is written.
"""

import base64
import binascii
import hashlib
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.functions.lists import measure
from gotemplate.functions.reflection import kind_name
from gotemplate.golang import gourl
from gotemplate.golang.gojson import JsonError, Writer, read
from gotemplate.golang.values import from_bytes, to_bytes
from gotemplate.rendering import Rendering
from gotemplate.types.signature import ANY, MAP, STRING, Function
from goyaml import YamlError, dump, load

_BASE64: Final = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_DIGITS: Final = re.compile(rb"[A-Za-z0-9+/\r\n]*")
_BASE32_DIGITS: Final = re.compile(rb"[A-Z2-7]*")
_GROUP32: Final = 8
# Digits in a padded last group of base32 that hold whole bytes.
_PADDED: Final = frozenset({2, 4, 5, 7})
_FEWEST_DIGITS: Final = 2

_COMPACT: Final = Writer()
_PRETTY: Final = Writer(indent=True)
_RAW: Final = Writer(html=False)


def b64enc(text: str) -> str:
    """Encode in base64."""
    return base64.b64encode(to_bytes(text)).decode()


def b64dec(text: str) -> str:
    """Decode base64; for invalid input return the text of Go's error, as Sprig does."""
    data = decode_base64(text)
    if data is None:
        return base64_problem(text)
    return from_bytes(data)


def decode_base64(text: str) -> bytes | None:
    """Decode base64, ignoring line ends; None if the text is not base64."""
    packed = to_bytes(text).translate(None, b"\r\n")
    return binascii.a2b_base64(packed) if _BASE64.fullmatch(packed) else None


def base64_problem(text: str) -> str:
    """Return Go's error for a text that is not base64."""
    return f"illegal base64 data at input byte {_bad_byte(to_bytes(text))}"


def _bad_byte(data: bytes) -> int:
    """Find the byte Go's decoder stops at."""
    match = _DIGITS.match(data)
    end = match.end() if match else 0
    # Where the last, unfinished group of four begins, in digits before `end`.
    digits = len(data[:end].translate(None, b"\r\n"))
    if end == len(data):
        return _unfinished(data, digits % 4)
    if data[end : end + 1] != b"=" or digits % 4 < 2:
        return end
    if digits % 4 == 2:
        second = end + 1
        while data[second : second + 1] in (b"\r", b"\n"):
            second += 1
        if second == len(data):
            return second
        if data[second : second + 1] != b"=":
            return second - 1
        end = second
    end += 1
    while data[end : end + 1] in (b"\r", b"\n"):
        end += 1
    return end


def _unfinished(data: bytes, missing: int) -> int:
    """Return the place Go names when the input ends inside a group."""
    return len(data) - missing


def b32enc(text: str) -> str:
    """Encode in base32."""
    return base64.b32encode(to_bytes(text)).decode()


def b32dec(text: str) -> str:
    """Decode base32; for invalid input return the text of Go's error, as Sprig does."""
    data = to_bytes(text).translate(None, b"\r\n")
    match = _BASE32_DIGITS.match(data)
    end = match.end() if match else 0
    bad = _bad_byte32(end, data[end:])
    if bad is not None:
        return f"illegal base32 data at input byte {bad}"
    return from_bytes(base64.b32decode(data[:end] + b"=" * (-end % _GROUP32)))


def _bad_byte32(end: int, padding: bytes) -> int | None:
    """Find the byte Go's decoder stops at: `end` digits were read, the rest is no digit."""
    last, expected = end % _GROUP32, -end % _GROUP32
    if not padding:
        return end - last if last else None
    if not padding.startswith(b"=") or last < _FEWEST_DIGITS or len(padding) > _GROUP32:
        return end
    if len(padding) < expected:
        return end + len(padding)
    for position, mark in enumerate(padding[1:expected]):
        if mark != ord("="):
            return end + position
    return None if last in _PADDED else end


def _sum_of(algorithm: str) -> Callable[[str], str]:
    def digest(text: str) -> str:
        return hashlib.new(algorithm, to_bytes(text), usedforsecurity=False).hexdigest()

    return digest


def adler32sum(text: str) -> str:
    """Return the Adler-32 checksum of a text as a decimal number."""
    return str(zlib.adler32(to_bytes(text)))


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
    fields = parts or {}
    url = gourl.Url(
        scheme=_part(fields, "scheme"),
        host=_part(fields, "host"),
        path=_part(fields, "path"),
        query=_part(fields, "query"),
        opaque=_part(fields, "opaque"),
        fragment=_part(fields, "fragment"),
    )
    userinfo = _part(fields, "userinfo")
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


def _must_write(writer: Writer) -> Callable[[Rendering, object], str]:
    def write(run: Rendering, value: object) -> str:
        measure(run, value)
        try:
            return writer.write(value)
        except ValueError as error:
            raise FunctionError(str(error)) from error

    return write


def _write(writer: Writer) -> Callable[[Rendering, object], str]:
    def write(run: Rendering, value: object) -> str:
        measure(run, value)
        try:
            return writer.write(value)
        except ValueError:
            return ""

    return write


def must_from_json(run: Rendering, text: str) -> object:
    """Read a JSON text; every number is a float.

    Raises:
        FunctionError: the text is not JSON.
    """
    run.charge(len(text) >> 2)
    try:
        return read(text, run.limits.value_depth)
    except JsonError as error:
        raise FunctionError(str(error)) from error


def from_json(run: Rendering, text: str) -> object:
    """Read a JSON text; nil if it is not JSON."""
    run.charge(len(text) >> 2)
    try:
        return read(text, run.limits.value_depth)
    except JsonError as error:
        return error.value


def to_yaml(run: Rendering, value: object) -> str:
    """Write a value as YAML in block style, with a newline at the end.

    Raises:
        LimitError: the value is deeper or larger than the limits allow.
        FunctionError: YAML cannot hold it.
    """
    measure(run, value)
    try:
        return dump(value)
    except (TypeError, ValueError) as error:
        raise FunctionError(str(error)) from error


def from_yaml(run: Rendering, text: str) -> object:
    """Read a YAML document; integers stay integers.

    Raises:
        FunctionError: the text is not YAML, or exceeds the reader's limits.
    """
    run.charge(len(text) >> 2)
    try:
        return load(text)
    except YamlError as error:
        raise FunctionError(str(error)) from error


FUNCTIONS: Final = (
    Function("b64enc", b64enc, (STRING,)),
    Function("b64dec", b64dec, (STRING,)),
    Function("b32enc", b32enc, (STRING,)),
    Function("b32dec", b32dec, (STRING,)),
    Function("sha1sum", _sum_of("sha1"), (STRING,)),
    Function("sha256sum", _sum_of("sha256"), (STRING,)),
    Function("sha512sum", _sum_of("sha512"), (STRING,)),
    Function("adler32sum", adler32sum, (STRING,)),
    Function("urlParse", url_parse, (STRING,)),
    Function("urlJoin", url_join, (MAP,)),
    Function("toJson", _write(_COMPACT), (ANY,), uses_rendering=True),
    Function("mustToJson", _must_write(_COMPACT), (ANY,), uses_rendering=True),
    Function("toPrettyJson", _write(_PRETTY), (ANY,), uses_rendering=True),
    Function("mustToPrettyJson", _must_write(_PRETTY), (ANY,), uses_rendering=True),
    Function("toRawJson", _must_write(_RAW), (ANY,), uses_rendering=True),
    Function("mustToRawJson", _must_write(_RAW), (ANY,), uses_rendering=True),
    Function("fromJson", from_json, (STRING,), uses_rendering=True),
    Function("mustFromJson", must_from_json, (STRING,), uses_rendering=True),
    Function("toYaml", to_yaml, (ANY,), uses_rendering=True),
    Function("fromYaml", from_yaml, (STRING,), uses_rendering=True),
)
