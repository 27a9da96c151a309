"""What a download ends with: the file, or an error."""

from dataclasses import dataclass

from kubectl_kudo.repositories.urls import shown_url
from kubectl_kudo.session.errors import CliError


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
