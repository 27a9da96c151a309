"""`kubectl kudo uninstall`: deletes an Instance; the API server deletes what it owns."""

from kubectl_kudo.core.arguments import DRY_RUN, INSTANCE, WAITING, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if args.all_unused:
        if args.instance or args.wait:
            raise UsageError("--all-unused cannot be used with --instance or --wait")
        from kubectl_kudo.instances.removing.unused import uninstall_unused

        uninstall_unused(args)
        return
    if not args.instance:
        raise UsageError('required flag(s) "instance" not set')
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.instances.removing.delete_instance import uninstall

    in_session(args, lambda session: uninstall(session, args))


COMMAND = Command(
    run,
    "[instance] | --all-unused",
    (
        INSTANCE,
        *WAITING,
        Flag(
            ("--all-unused",),
            "delete the operators and operatorversions that no instance uses instead",
            default=False,
        ),
        Flag(("--yes",), "with --all-unused: do not ask", default=False),
        DRY_RUN,
    ),
    more="Instances that its plans created (KudoOperator tasks) are deleted with it; --wait\n"
    "waits for them, too. The operator and its versions stay, for other instances. Deleting\n"
    "ends the pause of an instance that is suspended: its cleanup plan runs.\n"
    "\n"
    "--all-unused lists the operators and operatorversions of the namespace that no\n"
    "instance uses, those of children included, and deletes them after confirmation. What a\n"
    "used version needs for its KudoOperator tasks stays.\n"
    "\n"
    "The account of an instance and its rights stay, too; the command that deletes them is\n"
    "printed.",
    examples=(
        ("Delete an instance and wait until it is gone", "uninstall --instance web --wait"),
        ("Which operators does nobody use?", "uninstall --all-unused --dry-run=client"),
        ("Delete them without a question", "uninstall --all-unused --yes"),
    ),
)
