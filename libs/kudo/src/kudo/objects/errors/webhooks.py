"""Webhooks that the API server could not call, as its message tells."""

import re
from dataclasses import dataclass
from typing import Final

from kudo.api.names import GROUP

_UNREACHED: Final = re.compile(
    r'failed calling webhook "(?P<name>[^"]{1,253})"'
    r'(?:[^\n]{0,100}?"https://(?P<service>[-a-z0-9]{1,63})\.(?P<namespace>[-a-z0-9]{1,63})\.svc\b)?'
)


@dataclass(frozen=True, slots=True)
class UnreachedWebhook:
    """A webhook; its Service and namespace are empty if it was called by an address."""

    name: str
    service: str = ""
    namespace: str = ""

    @property
    def is_of_kudo(self) -> bool:
        return self.name.endswith(f".{GROUP}")


def unreached_webhook(message: str) -> UnreachedWebhook | None:
    """Return the webhook that a request was refused for, since it does not answer; else None."""
    match = _UNREACHED.search(message)
    return UnreachedWebhook(**match.groupdict(default="")) if match else None
