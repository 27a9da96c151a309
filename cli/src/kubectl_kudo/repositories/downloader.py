"""Downloads files over http(s), or reads those of file URLs.

What is received is limited while it is read. Failures that may go away are tried again: broken and
truncated answers, timeouts, 429 and 5xx.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from kubectl_kudo.repositories.urls import (
    Credentials,
    Downloaded,
    DownloadError,
    Unreachable,
    fault_of,
    is_remote,
    shown_url,
    too_large,
)

if TYPE_CHECKING:  # `search` in a folder needs nothing of the network
    from kubeio.connection.tracing import Tracer

_NONE = Credentials()


@dataclass(frozen=True, slots=True)
class Downloader:
    """Downloads files.

    Attributes:
        credentials: What is sent to which host.
        timeout: Seconds for each attempt; connecting and each pause of the server have 5 and 30.
        pauses: Seconds before the second attempt, the third, and so on.
        tracer: Is told what is sent and received, without credentials.
    """

    credentials: Credentials = _NONE
    timeout: float = 300
    pauses: tuple[float, ...] = (0.5, 2.0)
    tracer: "Tracer | None" = None

    async def get(self, url: str, *, limit: int, etag: str = "") -> Downloaded:
        """Return a file.

        Args:
            url: An http, https or file URL.
            limit: How many bytes it may have.
            etag: The ETag of a copy that the caller has.

        Raises:
            DownloadError: it cannot be downloaded, or is larger.
        """
        fault = fault_of(url)
        if fault:
            raise DownloadError(f"cannot download {shown_url(url)}: {fault}")
        if not is_remote(url):
            return Downloaded(_local(url, limit))
        # Importing aiohttp takes longer than reading a folder's index.
        from kubectl_kudo.repositories.over_http import Request, fetch

        request = Request(url, limit, etag, self.credentials, self.timeout, self.tracer)
        for pause in self.pauses:
            try:
                return await fetch(request)
            except Unreachable:
                await asyncio.sleep(pause)
        # The last attempt: its error is that of the command.
        return await fetch(request)


def _local(url: str, limit: int) -> bytes:
    path = Path(url2pathname(urlsplit(url).path))
    try:
        with path.open("rb") as file:
            # A file may grow while it is read, and a device has no end.
            content = file.read(limit + 1)
    except OSError as error:
        text = f"failed to fetch {shown_url(url)} : {error.strerror or error}"
        raise DownloadError(text) from error
    if len(content) > limit:
        raise too_large(url, limit)
    return content
