"""Entry point of `kudo-reconciler`. Exit codes: 0 stopped, 1 failed, 2 invalid option."""

import logging
import os
import sys
from functools import partial

from kubeio.errors import ConfigError
from kudo_reconciler.app import run
from kudo_reconciler.settings import Settings
from serving.logs import configure
from serving.program import run_service
from serving.server import ListenError

log = logging.getLogger(__name__)


def main() -> None:
    """Run the reconciler until a signal ends it."""
    settings = Settings.read(sys.argv[1:], os.environ)
    configure(settings.log_level, settings.log_style)
    if settings.digest_key_file and settings.digest_key is None:
        missing = {"file": str(settings.digest_key_file)}
        log.warning("no digest key: Secrets have no digest in Inventories", extra=missing)
    sys.exit(run_service(partial(run, settings), ConfigError, ListenError))


if __name__ == "__main__":
    main()
