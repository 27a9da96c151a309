"""The serving certificate, replaced while it is served, without dropping a connection.

Each certificate is loaded into a fresh TLS context, and new handshakes are given that context;
connections that exist keep theirs. Invariant: a pair that does not load (missing, unreadable, key
of another certificate) never replaces one that did. Where clients are verified, nothing is served
before their authority is known, and every context has it.

Files are polled, since a mounted Secret changes by a symlink that no inotify watch of the file
sees.
"""

import asyncio
import logging
import os
import ssl
import threading
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

log = logging.getLogger(__name__)

_Signature = tuple[tuple[int, int, int], ...]
_AUTHORITY_HINT = (
    "without the authority the API server would refuse every change: use an issuer that leaves "
    "ca.crt in its Secret, or, if the API server's machine trusts the issuer, set --public-roots "
    "(tls.publicRoots of the chart)"
)


class Served:
    """What is served now.

    Args:
        verify_clients: Whether a client must present a certificate of the authority that `trust`
            is given.

    Attributes:
        context: The TLS context to listen with; always the same one. Handshakes fail while no
            certificate is loaded, or no authority of clients where they are verified.
        not_after: When the loaded certificate expires; None while there is none.
        issuer: What signed it, in PEM; empty if that is not known.
        problem: Why the pair that was found last is not served; empty if it is.
    """

    def __init__(self, *, verify_clients: bool = False) -> None:
        self._current: ssl.SSLContext | None = None
        self._pair = self._clients = b""
        self._verify_clients = verify_clients
        # Both files are read in threads, and neither may bring back the other's former state.
        self._lock = threading.Lock()
        self.not_after: datetime | None = None
        self.issuer = b""
        self.problem = ""
        self.context = self._new_context()
        self.context.sni_callback = self._hand_out  # called without SNI, too

    @property
    def loaded(self) -> bool:
        return bool(self._pair)

    @property
    def expiry(self) -> float:
        """When the loaded certificate expires, in seconds since the epoch; 0 without one."""
        return self.not_after.timestamp() if self.not_after else 0.0

    def load(self, certificate: Path, key: Path) -> None:
        """Serve another pair from the next handshake on.

        Raises:
            OSError: a file cannot be read, or the pair is not usable (`ssl.SSLError`).
            ValueError: the key is encrypted, or the certificate unreadable.
        """
        self._serve(certificate.read_bytes(), key.read_bytes())

    def load_pem(self, certificate: bytes, key: bytes, *, issuer: bytes = b"") -> None:
        """Serve another pair from the next handshake on; raises as `load` does."""
        self._serve(certificate, key)
        self.issuer = issuer

    def trust(self, clients: bytes) -> None:
        """Take clients of this authority, and no others, from the next handshake on.

        Args:
            clients: One or more certificates, in PEM.

        Raises:
            ValueError: there is none, or one is unreadable.
        """
        clients = _readable(clients)
        with self._lock:
            self._current = self._build(self._pair, clients)
            self._clients = clients

    def _serve(self, certificate: bytes, key: bytes) -> None:
        # The last line of a file may lack its end.
        pair = certificate + b"\n" + key
        with self._lock:
            current = self._build(pair, self._clients)
            self.not_after = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
            self._current, self._pair = current, pair

    def _build(self, pair: bytes, clients: bytes) -> ssl.SSLContext | None:
        context = self._new_context()
        if clients:
            context.load_verify_locations(cadata=clients.decode("ascii"))
        if pair:
            _load_pair(context, pair)
        return context if pair and (clients or not self._verify_clients) else None

    def _new_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self._verify_clients:
            # OpenSSL takes the mode from the context that listens, and the authorities from the one
            # that `_hand_out` puts in its place, so each of them needs both.
            context.verify_mode = ssl.CERT_REQUIRED
            # A resumed session is not verified again: it would outlive a change of the authority.
            context.num_tickets = 0
            context.options |= ssl.OP_NO_TICKET
        return context

    def _hand_out(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> int | None:
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None


class Files:
    """A certificate with its key, in PEM files that somebody renews.

    Args:
        served: Where it is served.
        certificate: The certificate, and after it those that lead to its authority.
        key: Its key, without a password.
        authority: What signed it; None if there is no such file.
        authority_needed: Whether a pair whose authority is unknown is not served, since nobody
            else tells the API server whom to trust.
    """

    def __init__(
        self,
        served: Served,
        certificate: Path,
        key: Path,
        *,
        authority: Path | None = None,
        authority_needed: bool = False,
    ) -> None:
        self._served = served
        self._certificate, self._key, self._authority = certificate, key, authority
        self._authority_needed = authority_needed
        self._tried: _Signature | None = None

    def refresh(self) -> bool:
        """Load the files if they have changed since the last attempt; blocks for the reading.

        Returns:
            Whether another certificate is served from now on. A failure is logged, once for
            each state of the files.
        """
        try:
            signature = self._signature()
            if signature == self._tried:
                return False
            self._tried = signature
            # Before the pair: a former pair goes on being trusted, one without authority never is.
            issuer = self._issuer()
            self._served.load(self._certificate, self._key)
            self._served.issuer, self._served.problem = issuer, ""
        except (OSError, ValueError) as error:
            self._refused(error)
            return False
        log.info("certificate loaded", extra={"expires": str(self._served.not_after)})
        return True

    async def watch(self, interval: float) -> None:
        """Refresh for ever; changes are seen after `interval` seconds at most."""
        while True:
            await asyncio.to_thread(self.refresh)
            await asyncio.sleep(interval)

    def _issuer(self) -> bytes:
        found = b""
        if self._authority is not None and self._authority.exists():
            found = self._authority.read_bytes()
        if _holds_certificate(found):
            return found
        if self._authority_needed:
            where = self._authority or "--tls-ca"
            raise ValueError(f"{where} is missing or holds no certificate; {_AUTHORITY_HINT}")
        return b""

    def _signature(self) -> _Signature:
        paths = [self._certificate, self._key]
        if self._authority is not None and self._authority.exists():
            paths.append(self._authority)
        stats = (path.stat() for path in paths)
        # ctime, since a repaired file mode must be seen, too.
        return tuple((stat.st_ctime_ns, stat.st_ino, stat.st_size) for stat in stats)

    def _refused(self, error: Exception) -> None:
        self._served.problem = _describe(error)
        if isinstance(error, FileNotFoundError):
            if self._tried == ():
                return
            self._tried = ()
        kept = (
            "the one loaded before stays" if self._served.loaded else "there is none to serve with"
        )
        log.error("certificate refused, %s", kept, extra={"error": self._served.problem})


class ClientAuthority:
    """The authority of clients, in a PEM file that somebody renews.

    Attributes:
        problem: Why clients cannot be verified yet; empty if they can.
    """

    def __init__(self, served: Served, path: Path) -> None:
        self._served, self._path = served, path
        self._seen: bytes | None = None
        self._told = ""
        self._loaded = False
        self.problem = "it has not been read yet"

    def refresh(self) -> None:
        """Trust what the file holds now; blocks for the reading.

        A file that cannot be used is logged once, and the authority that was read before stays.
        """
        try:
            found = self._path.read_bytes()
            if found == self._seen:
                return
            self._seen = found
            self._served.trust(found)
        except OSError as error:
            self._seen = None
            self._refused(f"{self._path}: {error.strerror or error}")
            return
        except ValueError as error:
            self._refused(f"{self._path} {error}")
            return
        self._loaded, self._told, self.problem = True, "", ""
        log.info("client CA loaded", extra={"path": str(self._path)})

    async def watch(self, interval: float) -> None:
        """Refresh for ever; changes are seen after `interval` seconds at most."""
        while True:
            await asyncio.to_thread(self.refresh)
            await asyncio.sleep(interval)

    def _refused(self, problem: str) -> None:
        if not self._loaded:
            self.problem = problem
        if problem != self._told:
            self._told = problem
            kept = "the one loaded before stays" if self._loaded else "no client is accepted"
            log.error("client CA refused, %s", kept, extra={"error": problem})


def _holds_certificate(pem: bytes) -> bool:
    # cert-manager leaves ca.crt out, or empty, where an issuer names no authority.
    try:
        return bool(x509.load_pem_x509_certificates(pem))
    except ValueError:
        return False


def _readable(pem: bytes) -> bytes:
    """Return the certificates of a PEM file, without any text around them.

    Raises:
        ValueError: it holds none, or one is unreadable.
    """
    try:
        found = x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise ValueError(
            "holds no readable certificate; it needs the authority that signs the client "
            "certificate of the API server, in PEM"
        ) from error
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in found)


def _load_pair(context: ssl.SSLContext, pair: bytes) -> None:
    # OpenSSL reads from paths only; this one is in memory, so the key touches no disk.
    descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb") as file:
        file.write(pair)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=_no_password)


def _no_password() -> str:
    # Without this OpenSSL would ask on the terminal.
    raise ValueError("the key is encrypted; give one without a password")


def _describe(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return "the key does not belong to the certificate"
    return str(error)
