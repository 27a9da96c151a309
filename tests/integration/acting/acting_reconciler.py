"""The reconciler, whose tasks act as the service account `plans` of their Instance's namespace."""

from kubeio.connection.identity import Identity
from kudo.api import Instance
from kudo_reconciler.__main__ import main
from kudo_reconciler.execution import acting

ACCOUNT = "plans"


def acts_as(instance: Instance) -> Identity:
    return Identity.service_account(instance.metadata.namespace, ACCOUNT)


if __name__ == "__main__":
    acting.acts_as = acts_as
    main()
