"""`kubectl kudo update`: sets parameters of an Instance, which runs the plan that they trigger."""

from kubectl_kudo.instances.updating import update
from kubectl_kudo.session.arguments import (
    CHANGE_HELP,
    INSTANCE,
    PARAMETERS,
    SERVICE_ACCOUNT,
    WAITING,
    WRITING,
    Args,
    Flag,
)
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.names import name_fault
from kubectl_kudo.session.session import in_session
from kubectl_kudo.session.values import given_values


def run(args: Args) -> None:
    if not args.instance:
        raise UsageError(
            "--instance flag has to be provided to indicate which instance you want to update"
        )
    fault = name_fault("service account", args.service_account) if args.service_account else ""
    if fault:
        raise UsageError(fault)
    if args.yes and not args.edit:
        raise UsageError("--yes answers the question of --edit, and needs it")
    if args.edit:
        if args.parameter or args.parameter_file or args.service_account:
            raise UsageError(
                "--edit has all parameters in a file; it cannot be used with -p, -P or "
                "--service-account"
            )
        # It needs the rules of admission, whose import takes longer than an update.
        from kubectl_kudo.instances.editing import edit_parameters

        edit_parameters(args)
        return
    values = given_values(args)
    if not values and not args.service_account:
        raise UsageError(
            "need to specify at least one parameter to override via -p otherwise there is nothing "
            "to update"
        )
    in_session(args, lambda session: update(session, args, values))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        *PARAMETERS,
        Flag(("--edit",), "set the parameters in an editor", default=False),
        Flag(("--yes",), "with --edit, do not ask before the change is sent", default=False),
        SERVICE_ACCOUNT,
        *WAITING,
        *WRITING,
    ),
    more="Parameters that are not named keep their values. If nothing changes, nothing is sent.\n\n"
    "A parameter without a trigger that is changed together with one that has a trigger comes "
    "into\nforce after that plan, with update, else deploy; --wait waits for both.\n\n"
    "--service-account alone runs no plan: the next plan acts as that account. It cannot\n"
    "be changed while a plan runs.\n\n"
    "--edit opens all parameters in the editor that $KUBE_EDITOR or $EDITOR names, else vi. "
    "Comments\nsay what they are; defaults are comments, too. What is removed, or made a comment, "
    "has its default\nagain. The command shows what changes, and asks. What is denied is opened "
    "again, with the reason.\n\n" + CHANGE_HELP,
    examples=(
        (
            "Change one parameter and wait for the plan",
            "update --instance web -p replicas=3 --wait",
        ),
        ("Take the values from a file", "update --instance web -P values.yaml"),
        ("Change parameters in an editor", "update --instance web --edit"),
        (
            "Have plans act as an account from now on",
            "update --instance web --service-account web",
        ),
        ("Which plan would run?", "update --instance web -p replicas=3 --dry-run=client"),
    ),
)
