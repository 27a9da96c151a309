"""`kubectl kudo uninstall`: deletes an Instance; the API server deletes what it owns."""

from kubectl_kudo.core.arguments import DRY_RUN, INSTANCE, WAITING, Args
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import no_arguments


def run(args: Args) -> None:
    no_arguments("uninstall", args.arguments, "name the instance with --instance=<name>")
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.instances.delete_instance import uninstall

    in_session(args, lambda session: uninstall(session, args))


COMMAND = Command(
    "uninstall",
    "Delete an instance and what it created; its cleanup plan runs first, if it has one.",
    run,
    flags=(INSTANCE, *WAITING, DRY_RUN),
    required=("instance",),
    more="Instances that its plans created (KudoOperator tasks) are deleted with it. The operator "
    "and\nits versions stay, for other instances.",
    examples=(("Delete an instance and wait until it is gone", "uninstall --instance web --wait"),),
)
