"""The parts of the URL of a server."""

from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urlsplit


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a base URL; its user is left out.

    Attributes:
        origin: Scheme, host and port, as in `https://a:6443`.
        prefix: Quoted path before all paths, without a slash at its end; may be empty.
    """

    origin: str
    prefix: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read an http or https URL.

        Raises:
            ValueError: the URL has no host, or its port is no number.
        """
        parts = urlsplit(url)
        host = parts.hostname
        if not host or parts.scheme not in ("http", "https"):
            raise ValueError(f"{parts.scheme}://{host or ''} is no http or https URL")
        shown = f"[{host}]" if ":" in host else host
        if not shown.isascii():
            shown = shown.encode("idna").decode()
        usual = 443 if parts.scheme == "https" else 80
        port = "" if parts.port in (None, usual) else f":{parts.port}"
        return cls(
            origin=f"{parts.scheme}://{shown}{port}",
            prefix=quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~"),
        )
