"""The kinds that the reconciler may watch in strict mode: the option `--watch`.

A watch reads whole objects of all namespaces with the reconciler's own rights. So only kinds whose
health changes after they were applied are watched; all others are read by name, as the account.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from kudo.api.names import GROUP

# The namespaced kinds with a rule of health that reads their status (`kudo.objects.health.kinds`).
#
# Instances need no right more: the reconciler watches all of them anyway.
#
# Not among them, although their health changes: CustomResourceDefinitions, APIServices and
# Namespaces. They are cluster-scoped, few plans apply them, and they become healthy within seconds,
# once: a poll or two cost less than a watch, and the reconciler needs no right to list them. Custom
# resources are added by who installs their operator.
_DEFAULT: Final = (
    "pods",
    "services",
    "persistentvolumeclaims",
    "deployments.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "replicasets.apps",
    "jobs.batch",
    "cronjobs.batch",
    "poddisruptionbudgets.policy",
    "ingresses.networking.k8s.io",
    "horizontalpodautoscalers.autoscaling",
    f"instances.{GROUP}",
)
_NEVER: Final = "secrets"
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class WatchedKinds:
    """A set of kinds.

    Attributes:
        names: `plural.group` of each; of a kind of the core group the plural.
    """

    names: frozenset[str] = frozenset(_DEFAULT)

    def __contains__(self, name: str) -> bool:
        # Whatever the set says: the parser is not the only way to make one.
        return name in self.names and name != _NEVER

    def __str__(self) -> str:
        return ",".join(sorted(self.names))

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the kinds that a text names, separated by commas.

        Raises:
            ValueError: it names none, or one that is no `plural.group`; or Secrets.
        """
        names = frozenset(map(str.strip, text.split(","))) - {""}
        if not names:
            raise ValueError("names no kind; kinds are plural.group, such as pods,deployments.apps")
        for name in sorted(names):
            if _NAME.fullmatch(name) is None:
                raise ValueError(f"{name[:80]!r} is no kind; a kind is plural.group")
        if _NEVER in names:
            raise ValueError("secrets are never watched: leave them out")
        return cls(names)
