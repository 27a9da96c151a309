"""`kubectl kudo plan trigger`: runs a plan of an Instance."""

from kubectl_kudo.core.arguments import CHANGE_HELP, INSTANCE, WAITING, WRITING, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if not args.instance:
        raise UsageError("please choose the instance with '--instance=<instanceName>'")
    if not args.name:
        raise UsageError("please choose the plan name with '--name=<planName>'")
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.plans.trigger_plan import trigger

    in_session(args, lambda session: trigger(session, args))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(("--name",), "name of the plan", "plan"),
        *WAITING,
        *WRITING,
    ),
    more="While a plan is running, another one cannot be triggered.\n\n" + CHANGE_HELP,
    examples=(
        ("Run the plan `backup`", "plan trigger --instance web --name backup"),
        ("Run it and wait for its end", "plan trigger --instance web --name backup --wait"),
    ),
)
