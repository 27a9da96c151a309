"""Sprig's functions on passwords: hashes, derived ones, and texts encrypted with one."""

import base64
import hashlib
import hmac
import string
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.functions.encoding import base64_problem, decode_base64
from gotemplate.golang.values import from_bytes, to_bytes
from gotemplate.parse import nodes
from gotemplate.rendering import Rendering
from gotemplate.types.signature import STRING, Function, Param

_BLOCK: Final = 16
_KEY: Final = 32
_COST: Final = 10
_LONGEST_BCRYPT: Final = 72
_BASE64: Final = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_BCRYPT: Final = str.maketrans(
    _BASE64, "./" + string.ascii_uppercase + string.ascii_lowercase + string.digits
)

# The tables of the Master Password algorithm.
_SEED: Final = b"com.lyndir.masterpassword"
_SCRYPT_MEMORY: Final = 64 << 20
_FORMS: Final = {
    "maximum": ("anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"),
    "long": (
        *("CvcvnoCvcvCvcv", "CvcvCvcvnoCvcv", "CvcvCvcvCvcvno", "CvccnoCvcvCvcv"),
        *("CvccCvcvnoCvcv", "CvccCvcvCvcvno", "CvcvnoCvccCvcv", "CvcvCvccnoCvcv"),
        *("CvcvCvccCvcvno", "CvcvnoCvcvCvcc", "CvcvCvcvnoCvcc", "CvcvCvcvCvccno"),
        *("CvccnoCvccCvcv", "CvccCvccnoCvcv", "CvccCvccCvcvno", "CvcvnoCvccCvcc"),
        *("CvcvCvccnoCvcc", "CvcvCvccCvccno", "CvccnoCvcvCvcc", "CvccCvcvnoCvcc"),
        "CvccCvcvCvccno",
    ),
    "medium": ("CvcnoCvc", "CvcCvcno"),
    "short": ("Cvcn",),
    "basic": ("aaanaaan", "aannaaan", "aaannaaa"),
    "pin": ("nnnn",),
}
_LETTERS: Final = "AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz"
_CHARACTERS: Final = {
    "C": "BCDFGHJKLMNPQRSTVWXYZ",
    "v": "aeiou",
    "c": "bcdfghjklmnpqrstvwxyz",
    "a": _LETTERS,
    "n": string.digits,
    "o": "@&%?,=[]_:-+*$#!'^~;()/.",
    "x": _LETTERS + string.digits + "!@#$%^&*()",
}


class _Uint32(Param):
    """A parameter for what Go calls uint32: a constant, for no function gives one."""

    __slots__ = ()

    def constant(self, node: nodes.Number | nodes.String | nodes.Bool) -> object:
        if isinstance(node, nodes.Number) and node.integer is not None and node.integer >= 0:
            return node.integer & 0xFFFF_FFFF
        raise FunctionError(f"expected unsigned integer; found {node}")


def bcrypt(run: Rendering, password: str) -> str:
    """Hash a password with bcrypt; for one longer than 72 bytes, return Go's error text."""
    data = to_bytes(password)
    if len(data) > _LONGEST_BCRYPT:
        return (
            "failed to encrypt string with bcrypt: "
            f"bcrypt: password length exceeds {_LONGEST_BCRYPT} bytes"
        )
    run.spend()
    import bcrypt as library

    salt = base64.b64encode(run.sources.random(_BLOCK)).decode()[:22].translate(_BCRYPT)
    return library.hashpw(data, f"$2a${_COST}${salt}".encode()).decode()


def htpasswd(run: Rendering, user: str, password: str) -> str:
    """Return a line of an htpasswd file; the user name must not contain a colon."""
    if ":" in user:
        return f"invalid username: {user}"
    return f"{user}:{bcrypt(run, password)}"


def derive_password(
    run: Rendering, counter: int, form: str, password: str, user: str, site: str
) -> str:
    """Derive a password for a site from a master password."""
    if form not in _FORMS:
        return f"cannot find password template {form}"
    run.spend()
    key = hashlib.scrypt(
        to_bytes(password),
        salt=_SEED + _sized(user),
        n=32_768,
        r=8,
        p=2,
        maxmem=_SCRYPT_MEMORY,
        dklen=64,
    )
    message = _SEED + _sized(site) + counter.to_bytes(4, "big")
    seed = hmac.digest(key, message, "sha256")
    forms = _FORMS[form]
    pattern = forms[seed[0] % len(forms)]
    return "".join(
        _CHARACTERS[kind][number % len(_CHARACTERS[kind])]
        for kind, number in zip(pattern, seed[1:], strict=False)
    )


def _sized(text: str) -> bytes:
    data = to_bytes(text)
    return len(data).to_bytes(4, "big") + data


def encrypt_aes(run: Rendering, password: str, text: str) -> str:
    """Encrypt a text with AES-256-CBC; return base64 of the random IV and the blocks."""
    if not text:
        return ""
    run.need_library()
    data = to_bytes(text)
    padding = _BLOCK - len(data) % _BLOCK
    start = run.sources.random(_BLOCK)
    blocks = _aes(password, start, data + bytes([padding]) * padding, encrypt=True)
    return base64.b64encode(start + blocks).decode()


def decrypt_aes(run: Rendering, password: str, text: str) -> str:
    """Decrypt what `encryptAES` returned.

    Raises:
        FunctionError: the text is not such a ciphertext.
    """
    if not text:
        return ""
    data = decode_base64(text)
    if data is None:
        raise FunctionError(base64_problem(text))
    if len(data) < _BLOCK:
        capacity = len(text) // 4 * 3
        raise _out_of_range(f":{_BLOCK}] with capacity {capacity}")
    blocks = data[_BLOCK:]
    if len(blocks) % _BLOCK:
        raise FunctionError("crypto/cipher: input not full blocks")
    if not blocks:
        raise FunctionError("runtime error: index out of range [-1]")
    run.need_library()
    plain = _aes(password, data[:_BLOCK], blocks, encrypt=False)
    size = len(plain) - plain[-1]
    if size < 0:
        raise _out_of_range(f":{size}]")
    return from_bytes(plain[:size])


def _out_of_range(where: str) -> FunctionError:
    return FunctionError(f"runtime error: slice bounds out of range [{where}")


def _aes(password: str, start: bytes, data: bytes, *, encrypt: bool) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CBC

    key = to_bytes(password)[:_KEY].ljust(_KEY, b"\0")
    cipher = Cipher(AES(key), CBC(start))
    context = cipher.encryptor() if encrypt else cipher.decryptor()
    return context.update(data) + context.finalize()


_TEXTS: Final = (STRING, STRING)

FUNCTIONS: Final = (
    Function("bcrypt", bcrypt, (STRING,), uses_rendering=True),
    Function("htpasswd", htpasswd, _TEXTS, uses_rendering=True),
    Function(
        "derivePassword",
        derive_password,
        (_Uint32("uint32"), *_TEXTS, *_TEXTS),
        uses_rendering=True,
    ),
    Function("encryptAES", encrypt_aes, _TEXTS, uses_rendering=True),
    Function("decryptAES", decrypt_aes, _TEXTS, uses_rendering=True),
)
