"""`kubectl kudo install`: creates an Operator, an OperatorVersion and an Instance."""

from kubectl_kudo.core.arguments import (
    ALLOW_DOWNGRADE,
    CHANGE_HELP,
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
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


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
    if args.in_cluster:
        if args.upgrade:
            raise UsageError("--upgrade takes a package; it cannot be used with --in-cluster")
        if args.skip_instance or args.repo:
            raise UsageError(
                "you can't use skip-instance or repo option when installing from in-cluster "
                "operators"
            )
        from kubectl_kudo.instances.install_in_cluster import install_in_cluster

        install_in_cluster(args)
        return
    from kubectl_kudo.instances.install_package import install_package

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
