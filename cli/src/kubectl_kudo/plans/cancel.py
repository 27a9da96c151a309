"""`kubectl kudo plan cancel`: cancels the run in progress, and no other one."""

from kubectl_kudo.core.arguments import INSTANCE, WAITING, WRITING, Args
from kubectl_kudo.core.command import Command


def run(args: Args) -> None:
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.plans.cancel_plan import cancel

    in_session(args, lambda session: cancel(session, args))


COMMAND = Command(
    run,
    flags=(INSTANCE, *WAITING, *WRITING),
    required=("instance",),
    more="What the plan has done so far stays. Only the run that the command sees is cancelled,\n"
    "never one that starts meanwhile. With --wait the command ends when the run has. A run\n"
    "that is held up because the instance is suspended is cancelled like any other; the\n"
    "pause stays.",
    examples=(
        ("Cancel a plan that is stuck", "plan cancel --instance web"),
        ("Cancel it, and wait until another plan can run", "plan cancel --instance web --wait"),
    ),
)
