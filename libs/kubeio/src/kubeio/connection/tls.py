"""TLS contexts and proxies for connections to an API server.

Certificates are verified as in kubectl. ``VERIFY_X509_STRICT``, Python's default since 3.13, is
off: CAs of clusters that older tools created lack the extensions that it requires. Loopback
addresses are never proxied, as in Go.
"""

import base64
import contextlib
import hashlib
import ipaddress
import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from kubeio.errors import ConfigError
from kubeio.types import JsonObject

Problem = Callable[[str], ConfigError]
"""Makes the error of one field out of its text."""


@dataclass(frozen=True, slots=True)
class Pem:
    """PEM data, or the path of a PEM file, which is read when the TLS context is created."""

    data: bytes | None = None
    file: Path | None = None

    @classmethod
    def of(cls, body: JsonObject, key: str) -> Self:
        """Return what a kubeconfig has in ``<key>-data`` or names in ``<key>``, or neither."""
        if data := body.get(f"{key}-data"):
            return cls(data=base64.b64decode(data))
        return cls(file=Path(body[key])) if body.get(key) else cls()

    def __repr__(self) -> str:
        return f"Pem({'inline' if self.file is None else str(self.file)!r})"

    def __bool__(self) -> bool:
        return self.data is not None or self.file is not None

    def read(self) -> bytes:
        """Return the PEM data, empty if there is none."""
        return self.file.read_bytes() if self.file is not None else self.data or b""


class Tls:
    """The TLS context for new connections; another one after its CA or client certificate changed.

    Connections that are open keep theirs. A context cannot forget a CA, so it is never changed.

    Attributes:
        context: The current context, None before the first is loaded.
    """

    def __init__(
        self,
        *,
        verify: bool = True,
        bad_ca: Problem = ConfigError,
        bad_certificate: Problem = ConfigError,
    ) -> None:
        """Load nothing yet; the errors are made by ``bad_ca`` and ``bad_certificate``."""
        self.context: ssl.SSLContext | None = None
        self._verify = verify
        self._bad_ca, self._bad_certificate = bad_ca, bad_certificate
        self._digest = b""

    def load(self, *, ca: Pem, cert: Pem, key: Pem) -> None:
        """Use these for new connections; without a change the context stays.

        Raises:
            ConfigError: one of them is unusable; the context stays.
        """
        with _reported(self._bad_ca):
            digest = hashlib.sha256(ca.read())
        with _reported(self._bad_certificate):
            for part in (cert, key):
                digest.update(hashlib.sha256(part.read()).digest())
        if digest.digest() == self._digest:
            return
        with _reported(self._bad_ca):
            context = client_context(ca=ca, verify=self._verify)
        if cert:
            with _reported(self._bad_certificate):
                load_client_certificate(context, cert, key)
        self.context, self._digest = context, digest.digest()


@contextlib.contextmanager
def _reported(problem: Problem) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        # OpenSSL's texts name what is wrong and quote nothing of the file.
        raise problem(f"unusable certificate: {error}") from error


def client_context(*, ca: Pem, verify: bool = True) -> ssl.SSLContext:
    """Return a TLS context that trusts ``ca``, or the CAs of the system if that is empty.

    Raises:
        OSError, ssl.SSLError, ValueError: the file or its content is unusable.
    """
    cadata = ca.data.decode("ascii") if ca.data is not None else None
    context = ssl.create_default_context(cafile=ca.file, cadata=cadata)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def load_client_certificate(context: ssl.SSLContext, cert: Pem, key: Pem) -> None:
    """Load a client certificate and its key into a TLS context.

    Raises:
        OSError, ssl.SSLError: a file or its content is unusable, or the two do not match.
    """
    with _as_file(cert) as cert_file, _as_file(key) as key_file:
        context.load_cert_chain(cert_file, key_file)


@contextlib.contextmanager
def _as_file(pem: Pem) -> Iterator[Path]:
    # Python's ssl reads private keys from files only. This one is private (0600) and deleted as
    # soon as it is read.
    if pem.data is None:
        assert pem.file is not None
        yield pem.file
        return
    # Only certificates that stand in the kubeconfig need files; others save the import.
    import tempfile

    with tempfile.TemporaryDirectory(prefix="kubeio-") as directory:
        path = Path(directory, "pem")
        path.touch(mode=0o600)
        path.write_bytes(pem.data)
        yield path


def proxy_from_environment(server: str, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the URL of the proxy for this server from the environment, None without one.

    Reads ``HTTPS_PROXY``/``HTTP_PROXY``/``NO_PROXY`` in either case, once, by Go's rules:
    NO_PROXY may hold ``*``, host names (with their subdomains), addresses and networks.
    """
    env = os.environ if environ is None else environ
    url = urlsplit(server)
    host = (url.hostname or "").lower()
    names = (
        ("https_proxy", "HTTPS_PROXY") if url.scheme == "https" else ("http_proxy", "HTTP_PROXY")
    )
    proxy = next((env[name] for name in names if env.get(name)), None)
    no_proxy = env.get("no_proxy") or env.get("NO_PROXY") or ""
    address = _address(host)
    # As in Go, whatever NO_PROXY says: a proxy would reach its own loopback interface.
    if proxy is None or host == "localhost" or (address is not None and address.is_loopback):
        return None
    if any(
        _matches(host, url.port, entry.strip()) for entry in no_proxy.split(",") if entry.strip()
    ):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _matches(host: str, port: int | None, entry: str) -> bool:
    if entry == "*":
        return True
    address = _address(host)
    if address is not None and "/" in entry:
        with contextlib.suppress(ValueError):
            return address in ipaddress.ip_network(entry, strict=False)
    name, _, wanted_port = entry.lower().partition(":")
    if wanted_port.isdigit() and port is not None and int(wanted_port) != port:
        return False
    if address is not None:
        return _address(entry) == address or _address(name) == address
    name = name.removeprefix("*")
    suffix = name if name.startswith(".") else f".{name}"
    return host.endswith(suffix) or (host == name)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
