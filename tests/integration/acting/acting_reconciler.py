"""The reconciler, whose tasks act as the service account `plans` of their Instance's namespace.

It also logs every request that is forbidden: what is tried again would hide it.
"""

import logging
from typing import Any

from kubeio.connection.identity import Identity
from kubeio.errors import Forbidden
from kudo.api import Instance
from kudo_reconciler.__main__ import main
from kudo_reconciler.tenancy import acting

ACCOUNT = "plans"
FORBIDDEN = "a request is forbidden"

_init = Forbidden.__init__


def acts_as(instance: Instance) -> Identity:
    return Identity.service_account(instance.metadata.namespace, ACCOUNT)


def logged(error: Forbidden, *args: Any, **kwargs: Any) -> None:
    _init(error, *args, **kwargs)
    logging.getLogger(__name__).warning(FORBIDDEN, extra={"error": str(error)})


if __name__ == "__main__":
    acting.acts_as = acts_as
    Forbidden.__init__ = logged  # type: ignore[assignment, method-assign]
    main()
