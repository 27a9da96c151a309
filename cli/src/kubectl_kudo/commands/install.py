"""`kubectl kudo install`: creates an Operator, an OperatorVersion and an Instance.

The packages that it depends on are installed with it, without Instances: its plans create those.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from kubectl_kudo.accounts.giving import Giving
from kubectl_kudo.accounts.rights_check import check_strict
from kubectl_kudo.instances.new_instance import (
    check_absent,
    check_same_account,
    create_instance,
    giving_of,
    install_in_cluster,
    try_install,
    wait_until_deployed,
    with_account,
)
from kubectl_kudo.instances.upgrading import bring_to
from kubectl_kudo.instances.version_changes import check_replaceable
from kubectl_kudo.packages.install_set import (
    InstallSet,
    checked_instance,
    install_set_of,
    verify_before_install,
    versions_of,
)
from kubectl_kudo.packages.installation import (
    Installation,
    check_new,
    namespace_exists,
    new_namespace,
)
from kubectl_kudo.packages.installed import check_namespace, find_installed, with_dependencies
from kubectl_kudo.packages.sources import found as found_package
from kubectl_kudo.session.arguments import (
    ALLOW_DOWNGRADE,
    CHANGE_HELP,
    CLIENT,
    PARAMETERS,
    REPOSITORY,
    SERVER,
    SERVICE_ACCOUNT,
    SKIP_VERIFY,
    WAITING,
    WRITING,
    Args,
    Flag,
)
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError, describe
from kubectl_kudo.session.output import JsonObject, talk
from kubectl_kudo.session.session import Session, in_session
from kubectl_kudo.session.values import given_values
from kubectl_kudo.session.writes import dry_run_mode
from kubeio.errors import ConfigError, ConnectionLost
from kudo.packages.location import Located
from kudo.packages.resolution import Resolution
from kudo.parameters.settings import Settings, with_settings


def run(args: Args) -> None:
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError("expecting exactly one argument - name of the package or path to install")
    if args.create_namespace and args.dry_run == SERVER:
        raise UsageError(
            "the API server checks nothing in a namespace that does not exist; with "
            "--create-namespace use --dry-run=client"
        )
    if args.replace_version and not args.upgrade:
        raise UsageError("--replace-version needs --upgrade")
    if args.skip_instance and (args.service_account or args.create_service_account):
        raise UsageError(
            "with --skip-instance there is no instance for --service-account and "
            "--create-service-account"
        )
    if args.allow_escalation and not args.create_service_account:
        raise UsageError("--allow-escalation needs --create-service-account")
    # The words of KUDO 0.19, since scripts compare them.
    if args.in_cluster:
        if args.upgrade:
            raise UsageError("--upgrade takes a package; it cannot be used with --in-cluster")
        if args.skip_instance or args.repo:
            raise UsageError(
                "you can't use skip-instance or repo option when installing from in-cluster "
                "operators"
            )
        values = given_values(args)
        in_session(args, lambda session: install_in_cluster(session, args, values))
        return
    install_package(args)


COMMAND = Command(
    run,
    "<name|folder|tgz|url>",
    (
        Flag(("--instance",), "name of the instance (default: <operator>-instance)", "name"),
        *PARAMETERS,
        *REPOSITORY,
        SKIP_VERIFY,
        *WAITING,
        SERVICE_ACCOUNT,
        Flag(
            ("--create-service-account",),
            "create that account, or one named like the instance, with the rights that the plans "
            "need",
            default=False,
        ),
        Flag(
            ("--allow-escalation",),
            "with --create-service-account: give also rights that let the account get more",
            default=False,
        ),
        Flag(
            ("--skip-rights-check",),
            "in strict tenancy: install although the account lacks rights that the plans need",
            default=False,
        ),
        Flag(
            ("--create-namespace",),
            "create the namespace, from the package's namespaceManifest if it has one",
            default=False,
        ),
        Flag(
            ("--in-cluster",),
            "create an instance of an operator that is installed in the namespace",
            default=False,
        ),
        Flag(
            ("--upgrade",),
            "if the instance exists, upgrade it, or update its parameters",
            default=False,
        ),
        ALLOW_DOWNGRADE,
        Flag(
            ("--replace-version",),
            "with --upgrade: replace the installed version if its content differs",
            default=False,
        ),
        Flag(("--skip-instance",), "install the operator without an instance", default=False),
        *WRITING,
    ),
    more="The package is verified, and everything is checked, before anything is created. Objects "
    "that\nexist already and are the same are left alone, so that the command can be repeated. "
    "Packages\nthat it depends on (KudoOperator tasks) are installed with it.\n\n"
    "A name means the newest version in the repository; a folder of that name is ./name.\n\n"
    "With --upgrade an instance that exists is upgraded, or updated if it has the version already, "
    "and\nstays as it is if nothing differs. --replace-version is for the development of a "
    "package: it\nreplaces an operatorversion that only this instance and its children use, and "
    "runs its deploy\nplan, or the plan of values that change.\n\n"
    "With --service-account the plans of the instance have the rights of that account and no more. "
    "With\n--create-service-account it is created first, with a Role and a RoleBinding for all "
    "that the plans\nneed, as `kubectl kudo rbac` prints them. You can give no rights that you do "
    "not have; if any is\nmissing, nothing is created. Rights that let the account get more, such "
    "as bind, writes to RBAC or\n*, are listed and need --allow-escalation. What was given is "
    "printed.\n\n"
    "Where tenancy is strict, the account must have the rights that the plans need. What it lacks "
    "is\nlisted, and nothing is created.\n\n"
    "With --dry-run=client and -o (but not --upgrade) all manifests are printed, whatever is "
    "installed:\nno cluster is read.\n\n" + CHANGE_HELP,
    examples=(
        ("Install a package from a folder and wait until it is deployed", "install ./web --wait"),
        (
            "A second instance with other values, in another namespace",
            "install ./web --instance shop -p replicas=3 -n shop",
        ),
        (
            "With an account of its own, which has what its plans need",
            "install ./web --instance web --create-service-account --wait",
        ),
        ("A version from the repository", "install kafka --operator-version 1.3.3"),
        ("Another instance of what is installed", "install web --in-cluster --instance second"),
        ("Install, or upgrade what is there", "install ./web --instance web --upgrade --wait"),
        (
            "Try an edited package again, without another version",
            "install ./web --upgrade --replace-version --wait",
        ),
        ("All manifests, for Git; no cluster is read", "install ./web --dry-run=client -o yaml"),
    ),
)


def install_package(args: Args) -> None:
    """Install the package that the argument names; for a dry run without a cluster, check it.

    Manifests that are printed by a dry run are for Git: the same whatever a cluster contains, which
    is not read. Only `--upgrade` compares.
    """
    values = given_values(args)
    # The package comes first: what is wrong with it needs no cluster.
    located = found_package(args)
    if args.output and dry_run_mode(args) == CLIENT and not args.upgrade:
        try_install(args, located, values)
        return
    try:
        in_session(args, lambda session: install(session, args, located, values))
    except (ConfigError, ConnectionLost) as error:
        # Every other call has to write, or asks the API server what it would do.
        if dry_run_mode(args) != CLIENT:
            raise
        talk(f"No cluster could be reached, so only the package is checked: {describe(error)}")
        try_install(args, located, values)


async def install(session: Session, args: Args, located: Located, values: Settings) -> None:
    """Check everything, create what is missing and, if wanted, wait for the deployment."""
    resolution = await with_dependencies(session, args, located)
    install_set = install_set_of(resolution, session.namespace)
    if args.upgrade and not args.skip_instance:
        name = args.instance or install_set.root.instance.metadata.name
        before = await session.instance(name)
        if before is not None:
            # Plans have the rights of that account: an upgrade does not change it by the way.
            check_same_account(args, before)
            verify_before_install(args, located, resolution)
            giving = await _giving_to_existing(session, args, install_set, before, values)
            await bring_to(session, args, install_set, before, values, giving)
            return
    instance = None
    if not args.skip_instance:
        instance = with_account(args, checked_instance(install_set, args.instance, values))
    verify_before_install(args, located, resolution)
    namespace = await _namespace(session, args, resolution, install_set, instance, values)
    installed = await find_installed(session, install_set, replace=args.replace_version)
    # Other Instances may use the version that would be replaced.
    await check_replaceable(session, installed.replaced, None)
    create = None
    if instance is not None:
        await check_absent(session, instance["metadata"]["name"])
        create = await _creation(session, args, install_set, instance)
    # Nothing is written before here: what is denied leaves nothing behind.
    installation = Installation(session, install_set, installed, namespace=namespace)
    created = await installation.run(create)
    session.report.show_all(session.writes.objects)
    if created is not None and args.wait and not session.report.dry:
        await wait_until_deployed(session, created, args.wait_time, operators=installation.created)


async def _creation(
    session: Session, args: Args, install_set: InstallSet, instance: JsonObject
) -> Callable[[], Awaitable[JsonObject]]:
    """Return what creates the Instance, and before it its account if that is wanted."""
    version, new = install_set.root.operator_version, versions_of(install_set)
    await check_strict(session, args, instance, new)
    giving = await giving_of(session, args, version, instance, new)
    if giving is None:
        return partial(create_instance, session, instance)
    if not args.create_namespace:  # nothing can be tried in a namespace that does not exist
        await giving.check()

    async def create() -> JsonObject:
        # First the rights: the webhook starts the deploy plan as soon as the Instance exists.
        async with giving.applied():
            return await create_instance(session, instance)

    return create


async def _giving_to_existing(
    session: Session,
    args: Args,
    install_set: InstallSet,
    before: JsonObject,
    values: Settings,
) -> Giving | None:
    """Return what gives the account of an Instance that exists what this version needs, tried."""
    version = install_set.root.operator_version
    wire = {**before, "spec": with_settings(before["spec"], values)}
    giving = await giving_of(session, args, version, wire, versions_of(install_set))
    if giving is not None:
        await giving.check()
    return giving


async def _namespace(
    session: Session,
    args: Args,
    resolution: Resolution,
    install_set: InstallSet,
    instance: JsonObject | None,
    values: Settings,
) -> JsonObject | None:
    """Return the Namespace to create; None if it exists."""
    if not args.create_namespace:
        await check_namespace(session)
        return None
    # With --upgrade the command is repeated, so a Namespace that exists is no error.
    if args.upgrade and await namespace_exists(session):
        return None
    await check_new(session)
    name = instance["metadata"]["name"] if instance else args.instance
    return new_namespace(resolution.root, install_set.root, session.namespace, name, values)
