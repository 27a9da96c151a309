"""Entry point of `kudo-webhook`. Exit codes: 0 stopped, 1 failed, 2 wrong option."""

import asyncio
import logging
import os
import sys

from kubeio.errors import ConfigError
from kudo_webhook.app import run
from kudo_webhook.settings import Settings
from serving.logs import configure
from serving.server import ListenError
from serving.signals import stop_on_signals

log = logging.getLogger("kudo_webhook")


def main() -> None:
    """Run the webhook until a signal ends it."""
    settings = Settings.read(sys.argv[1:], os.environ)
    configure(settings.log_level, settings.log_style)
    sys.exit(asyncio.run(_run(settings)))


async def _run(settings: Settings) -> int:
    log.info("starting")
    failed = 0
    try:
        await run(settings, stop_on_signals())
    except* (ConfigError, ListenError) as group:
        log.error("cannot start", extra={"error": _reasons(group)})
        failed = 1
    log.info("stopped")
    return failed


def _reasons(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_reasons(part) for part in error.exceptions)
    return str(error)


if __name__ == "__main__":
    main()
