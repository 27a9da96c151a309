"""The serving certificate, replaced without dropping a connection.

Each certificate is loaded into a new TLS context for new handshakes; open connections keep theirs.
Invariant: a pair that cannot be loaded (missing, unreadable, key of another certificate) never
replaces one that was. Where clients are verified, nothing is served before their authority is
known, and every context has it.
"""

import os
import ssl
import threading
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization


class Served:
    """The certificate that is served now.

    Args:
        verify_clients: Whether a client must present a certificate of the authority that `trust`
            is given.

    Attributes:
        context: The TLS context to listen with; always the same one. Handshakes fail while no
            certificate is loaded, or no authority of clients where they are verified.
        not_after: When the loaded certificate expires; None while there is none.
        issuer: Certificate of its authority, in PEM; empty if unknown.
        problem: Why the pair that was read last is not served; empty if it is served.
    """

    def __init__(self, *, verify_clients: bool = False) -> None:
        self._current: ssl.SSLContext | None = None
        self._pair = self._clients = b""
        self._verify_clients = verify_clients
        # Pair and client authority are read in threads; neither may restore the other's old state.
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
        """Accept only clients of this authority from the next handshake on.

        Args:
            clients: One or more certificates, in PEM.

        Raises:
            ValueError: it contains none, or one is unreadable.
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


def _readable(pem: bytes) -> bytes:
    """Return the certificates of a PEM file, without any text around them.

    Raises:
        ValueError: it holds none, or one is unreadable.
    """
    try:
        certificates = x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise ValueError(
            "holds no readable certificate; it needs the authority that signs the client "
            "certificate of the API server, in PEM"
        ) from error
    return b"".join(
        certificate.public_bytes(serialization.Encoding.PEM) for certificate in certificates
    )


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
