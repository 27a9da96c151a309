"""Health checks of components."""

import http.client
import ssl
from pathlib import Path
from urllib.parse import urlsplit

_TIMEOUT = 2.0


def problem(url: str, ca: Path) -> str | None:
    """Return why the component at this URL is unhealthy, in one line; None if it is healthy."""
    parts = urlsplit(url)
    connection: http.client.HTTPConnection
    try:
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=str(ca))
            connection = http.client.HTTPSConnection(
                parts.netloc, context=context, timeout=_TIMEOUT
            )
        else:
            connection = http.client.HTTPConnection(parts.netloc, timeout=_TIMEOUT)
        try:
            connection.request("GET", parts.path)
            response = connection.getresponse()
            response.read()
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    return None if response.status == http.HTTPStatus.OK else f"HTTP {response.status}"
