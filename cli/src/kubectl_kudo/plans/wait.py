"""`kubectl kudo plan wait`: waits for the run in progress, and fails if it does."""

from kubectl_kudo.core.arguments import INSTANCE, WAIT_TIME, Args
from kubectl_kudo.core.command import Command


def run(args: Args) -> None:
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.plans.wait_for_plan import wait

    in_session(args, lambda session: wait(session, args))


COMMAND = Command(
    run,
    flags=(INSTANCE, WAIT_TIME),
    required=("instance",),
    more="The command ends with success on COMPLETE and with an error on FATAL_ERROR, naming the "
    "step.\nWhere no plan is running, it reports the result of the last one at once.",
    examples=(
        ("Wait for what `kubectl apply` has started", "plan wait --instance web"),
        ("Wait for ten minutes at most", "plan wait --instance web --wait-time 10m"),
    ),
)
