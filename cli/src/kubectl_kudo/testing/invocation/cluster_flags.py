"""The flags that say where a suite runs."""

import os
from pathlib import Path

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.testing.invocation.overrides import NOT_SET
from kubectl_kudo.testing.local.planned import PlanOptions


def plan_options(args: Args) -> PlanOptions:
    """Return the flags that say where a suite runs; None for those that are not given."""
    return PlanOptions(
        kubeconfig=args.kubeconfig or None,
        context=args.context or None,
        start_control_plane=_switch(args.start_control_plane),
        start_kind=_switch(args.start_kind),
        start_kudo=_switch(args.start_kudo),
        kind_config=args.kind_config or None,
        kind_context=args.kind_context or None,
        folder=Path.cwd(),
        environment=dict(os.environ),
        allow_faults=args.allow_faults,
    )


def _switch(value: object) -> bool | None:
    return None if value == NOT_SET else bool(value)
