"""`kubectl kudo upgrade`: upgrades an Instance to the version in a package."""

from kubectl_kudo.core.arguments import (
    ALLOW_DOWNGRADE,
    CHANGE_HELP,
    INSTANCE,
    PARAMETERS,
    REPOSITORY,
    SKIP_VERIFY,
    WAITING,
    WRITING,
    Args,
)
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError("expecting exactly one argument - name of the package or path to upgrade")
    if not args.instance:
        raise UsageError("please use --instance and specify instance name. It cannot be empty")
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.core.values import given_values
    from kubectl_kudo.instances.upgrading.upgrade_instance import upgrade
    from kubectl_kudo.packages.sources import found

    values = given_values(args)
    located = found(args)
    in_session(args, lambda session: upgrade(session, args, located, values))


COMMAND = Command(
    run,
    "<name|folder|tgz|url>",
    (INSTANCE, *PARAMETERS, *REPOSITORY, SKIP_VERIFY, ALLOW_DOWNGRADE, *WAITING, *WRITING),
    more="The package must be of the same operator and newer, by operatorVersion or appVersion; "
    "an older\none needs --allow-downgrade. It is verified, and everything is checked, before "
    "anything is changed.\nParameters keep their values.\n\n"
    "Parameters that run a plan of their own can be set only after the upgrade: with --wait the "
    "command\nsets them then, without it the command prints how.\n\n" + CHANGE_HELP,
    examples=(
        ("Upgrade to a newer version and wait for its plan", "upgrade ./web --instance web --wait"),
        (
            "Set a parameter that is new in that version",
            "upgrade ./web-0.2.0.tgz --instance web -p cacheSize=64",
        ),
    ),
)
