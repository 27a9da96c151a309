"""`kubectl kudo upgrade`: upgrades an Instance to a version of a package or in the cluster."""

from kubectl_kudo.instances.upgrading import existing, upgrade_in_cluster, upgrade_to
from kubectl_kudo.packages.install_set import install_set_of, verify_before_install
from kubectl_kudo.packages.installed import with_dependencies
from kubectl_kudo.packages.sources import found
from kubectl_kudo.session.arguments import (
    ALLOW_DOWNGRADE,
    CHANGE_HELP,
    INSTANCE,
    PARAMETERS,
    REPOSITORY,
    SKIP_VERIFY,
    WAITING,
    WRITING,
    Args,
    Flag,
)
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.session import Session, in_session
from kubectl_kudo.session.values import given_values
from kudo.packages.location import Located
from kudo.parameters.settings import Settings


def run(args: Args) -> None:
    if args.to:
        _check_to(args)
    elif len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError("expecting exactly one argument - name of the package or path to upgrade")
    if not args.instance:
        raise UsageError("please use --instance and specify instance name. It cannot be empty")
    values = given_values(args)
    if args.to:
        in_session(args, lambda session: upgrade_in_cluster(session, args, values))
        return
    located = found(args)
    in_session(args, lambda session: upgrade(session, args, located, values))


def _check_to(args: Args) -> None:
    """Check that nothing is given with --to that is about packages."""
    others = {
        "a package": args.arguments,
        "--repo": args.repo,
        "--operator-version": args.operator_version,
        "--skip-verify": args.skip_verify,
    }
    given = [what for what, value in others.items() if value]
    if given:
        raise UsageError(
            f"--to takes a version that is in the cluster; it cannot be used with {given[0]}"
        )


COMMAND = Command(
    run,
    "<name|folder|tgz|url>",
    (
        INSTANCE,
        Flag(("--to",), "a version that is in the namespace, instead of a package", "version"),
        *PARAMETERS,
        *REPOSITORY,
        SKIP_VERIFY,
        ALLOW_DOWNGRADE,
        *WAITING,
        *WRITING,
    ),
    more="The package must be of the same operator and newer, by operatorVersion or appVersion; "
    "an older\none needs --allow-downgrade. It is verified, and everything is checked, before "
    "anything is changed.\nParameters keep their values.\n\n"
    "--to takes a version of the operator that is in the namespace of the instance, without its "
    "package:\nits operatorVersion, or the name of its OperatorVersion; of several app versions "
    "--app-version\nnames one.\n\n"
    "Parameters that run a plan of their own can be set only after the upgrade: with --wait the "
    "command\nsets them then, without it the command prints how.\n\n" + CHANGE_HELP,
    examples=(
        ("Upgrade to a newer version and wait for its plan", "upgrade ./web --instance web --wait"),
        (
            "Upgrade to a version that is in the cluster already",
            "upgrade --to 0.2.0 --instance web",
        ),
        (
            "Set a parameter that is new in that version",
            "upgrade ./web-0.2.0.tgz --instance web -p cacheSize=64",
        ),
    ),
)


async def upgrade(session: Session, args: Args, located: Located, values: Settings) -> None:
    """Check everything, install the version after its dependencies, and set it on the Instance."""
    resolution = await with_dependencies(session, args, located)
    install_set = install_set_of(resolution, session.namespace)
    before = await existing(session, args.instance)
    verify_before_install(args, located, resolution)
    await upgrade_to(session, args, install_set, before, values)
