"""Limits of a service and, below each, of one namespace; as pairs of options."""

from dataclasses import dataclass
from typing import Any

from serving.settings import Option, within


@dataclass(frozen=True, slots=True)
class Share:
    """A limit of the whole service, and that of one namespace.

    Raises:
        ValueError: the limit of a namespace is not below the other: one could take everything.
    """

    total: int
    namespace: int

    def __post_init__(self) -> None:
        if not 1 <= self.namespace < self.total:
            raise ValueError(
                f"the share of a namespace ({self.namespace}) must be from 1 to {self.total - 1}, "
                f"below that of all ({self.total})"
            )


def share_options(
    env_prefix: str, name: str, share: Share, what: str, most: int
) -> tuple[Option, Option]:
    """Return `--NAME` and `--namespace-NAME`; `take_share` reads their values."""
    env = name.replace("-", "_").upper()
    return (
        Option(
            f"--{name}",
            f"{env_prefix}{env}",
            f"{what}, of all namespaces.",
            default=share.total,
            type=within(2, most),
        ),
        Option(
            f"--namespace-{name}",
            f"{env_prefix}NAMESPACE_{env}",
            f"{what}, of one namespace; less than --{name}.",
            default=share.namespace,
            type=within(1, most),
        ),
    )


def take_share(values: dict[str, Any], name: str) -> Share:
    """Remove the values of `share_options` from those of all options, and return them.

    Raises:
        ValueError: they contradict each other.
    """
    own = name.replace("-", "_")
    total, namespace = values.pop(own), values.pop(f"namespace_{own}")
    if namespace >= total:
        raise ValueError(f"--namespace-{name} ({namespace}) must be below --{name} ({total})")
    return Share(total, namespace)
