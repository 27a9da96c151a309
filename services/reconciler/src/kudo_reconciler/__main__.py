"""The program `kudo-reconciler`."""

import asyncio
import logging
import os
import sys

from kubeio.errors import ConfigError
from kudo_reconciler.app import run
from kudo_reconciler.settings import Settings
from serving.logs import configure
from serving.server import ListenError
from serving.signals import stop_on_signals

log = logging.getLogger("kudo_reconciler")


def main() -> None:
    """Run until SIGTERM or SIGINT; exit code 1 tells a failure that the log explains."""
    settings = Settings.read(sys.argv[1:], os.environ)
    configure(settings.log_level, "text" if settings.log_style == "text" else "json")
    sys.exit(asyncio.run(_main(settings)))


async def _main(settings: Settings) -> int:
    failed = 0
    try:
        await run(settings, stop_on_signals())
    except* (ConfigError, ListenError) as group:
        for error in group.exceptions:
            log.error("cannot start: %s", error)
        failed = 1
    return failed


if __name__ == "__main__":
    main()
