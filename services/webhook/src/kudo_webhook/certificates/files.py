"""Files that are loaded again whenever they change: the serving certificate, the client authority.

Files are polled: a mounted Secret changes by a symlink, which an inotify watch of the file misses.
"""

import asyncio
import contextlib
import logging
import ssl
from pathlib import Path

from cryptography import x509

from kudo_webhook.certificates.served import Served

log = logging.getLogger(__name__)

_Signature = tuple[tuple[int, int, int], ...]
_AUTHORITY_HINT = (
    "without the authority the API server would refuse every change: use an issuer that leaves "
    "ca.crt in its Secret, or, if the API server's machine trusts the issuer, set --public-roots "
    "(tls.publicRoots of the chart)"
)


class Files:
    """A certificate with its key, in PEM files that may change.

    Args:
        served: Serves the certificate.
        certificate: The certificate, followed by its intermediates.
        key: Its key, without a password.
        authority: Certificate of its authority; None if there is no such file.
        authority_needed: Whether a pair with an unknown authority is not served: the API server
            would not know whom to trust.
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
            # Before the pair: the former pair is still trusted, a pair without authority never is.
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
        content = b""
        if self._authority is not None and self._authority.exists():
            content = self._authority.read_bytes()
        # cert-manager leaves ca.crt out, or empty, where an issuer names no authority.
        with contextlib.suppress(ValueError):
            if x509.load_pem_x509_certificates(content):
                return content
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


def _describe(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return "the key does not belong to the certificate"
    return str(error)


class ClientAuthority:
    """The authority of client certificates, in a PEM file that may change.

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
            content = self._path.read_bytes()
            if content == self._seen:
                return
            self._seen = content
            self._served.trust(content)
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
