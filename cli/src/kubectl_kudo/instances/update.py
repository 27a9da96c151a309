"""`kubectl kudo update`: sets parameters of an Instance, which runs the plan that they trigger."""

from kubectl_kudo.core.arguments import (
    CHANGE_HELP,
    INSTANCE,
    PARAMETERS,
    SERVICE_ACCOUNT,
    WAITING,
    WRITING,
    Args,
)
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if not args.instance:
        raise UsageError(
            "--instance flag has to be provided to indicate which instance you want to update"
        )
    from kubectl_kudo.core.naming import name_fault
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.core.values import given_values
    from kubectl_kudo.instances.update_parameters import update

    fault = name_fault("service account", args.service_account) if args.service_account else ""
    if fault:
        raise UsageError(fault)
    values = given_values(args)
    if not values and not args.service_account:
        raise UsageError(
            "need to specify at least one parameter to override via -p otherwise there is nothing "
            "to update"
        )
    in_session(args, lambda session: update(session, args, values))


COMMAND = Command(
    run,
    flags=(INSTANCE, *PARAMETERS, SERVICE_ACCOUNT, *WAITING, *WRITING),
    more="Parameters that are not named keep their values. One without a trigger that is changed "
    "together\nwith one that has a trigger comes into force after that plan, with update, else "
    "deploy; --wait\nwaits for both. --service-account alone runs no plan: the next plan acts as "
    "that account.\nIt cannot be changed while a plan runs.\n\n" + CHANGE_HELP,
    examples=(
        (
            "Change one parameter and wait for the plan",
            "update --instance web -p replicas=3 --wait",
        ),
        ("Take the values from a file", "update --instance web -P values.yaml"),
        (
            "Have plans act as an account from now on",
            "update --instance web --service-account web",
        ),
        ("Which plan would run?", "update --instance web -p replicas=3 --dry-run=client"),
    ),
)
