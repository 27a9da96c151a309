"""`kubectl kudo rbac`: prints and checks the rights that plans need from their account."""

from kubectl_kudo.core.arguments import (
    INSTANCE,
    OUTPUT,
    PARAMETERS,
    REPOSITORY,
    Args,
    Flag,
)
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    _check(args)
    if args.check:
        from kubectl_kudo.rbac.check import check

        check(args)
    elif args.arguments:
        from kubectl_kudo.rbac.print_rights import print_for_package

        print_for_package(args)
    elif args.instance:
        from kubectl_kudo.rbac.print_rights import print_for_instance

        print_for_instance(args)
    else:
        from kubectl_kudo.rbac.print_rights import print_impersonator

        print_impersonator(args)


def _check(args: Args) -> None:
    """Raise UsageError for flags that do not go together."""
    if len(args.arguments) > 1:
        raise UsageError("expecting at most one argument - name of the package or path")
    if args.arguments and (args.instance or args.check):
        raise UsageError(
            "a package cannot be combined with --instance or --check; name the instance that it "
            "will become with --instance-name"
        )
    if (args.parameter or args.parameter_file or args.instance_name) and not args.arguments:
        raise UsageError("-p, -P and --instance-name need a package; an instance has its values")
    if args.all_namespaces and not args.check:
        raise UsageError("--all-namespaces needs --check")
    if args.all_namespaces and (args.namespace or args.instance):
        raise UsageError("--all-namespaces cannot be used with --namespace or --instance")
    if not (args.arguments or args.instance or args.check or args.namespace):
        raise UsageError(
            "name a package, an instance with --instance, or a namespace with --namespace"
        )


COMMAND = Command(
    run,
    "[name|folder|tgz|url]",
    (
        INSTANCE,
        Flag(
            ("--service-account",),
            "account that gets the rights (default: that of the instance)",
            "name",
        ),
        Flag(
            ("--instance-name",),
            "name of the instance of a package (default: <operator>-instance)",
            "name",
        ),
        *PARAMETERS,
        *REPOSITORY,
        Flag(
            ("--check",),
            "ask the API server which rights accounts lack; exit code 1 if they lack any",
            default=False,
        ),
        Flag(
            ("--all-namespaces", "-A"),
            "with --check: the instances of all namespaces",
            default=False,
        ),
        Flag(
            ("--kudo-namespace",),
            "namespace where KUDO is installed (default: where its reconciler is, or kudo-system)",
            "name",
        ),
        Flag(
            OUTPUT.names,
            "yaml or json: print the objects, or with --check the results, as data",
            OUTPUT.value,
        ),
    ),
    more="For an instance or a package: the ServiceAccount, Role and RoleBinding that its plans "
    "need, with\nthe task and template of each rule as comments. All plans are rendered with the "
    "values of the\ninstance; kinds behind conditions that are false are found in the text. What "
    "is not known is a\nnote at the top. Rights in the whole cluster are a ClusterRole, for an "
    "administrator to review.\nNothing is written: read it, and pass it to kubectl apply.\n\n"
    "With a namespace alone: the RoleBinding with which KUDO may act as the accounts of that\n"
    "namespace. An installation that is strict needs it in each namespace with instances.\n\n"
    "With --check nothing is printed to apply: for each instance the rights are listed that its\n"
    "account lacks, accounts that do not exist, namespaces without that RoleBinding, and\n"
    "operatorversions of other namespaces that are not granted. This is what would fail once\n"
    "KUDO is strict. It needs the right to create subjectaccessreviews.",
    examples=(
        ("What do the plans of an instance need?", "rbac --instance web"),
        (
            "What will a package need? Give it to the account web",
            "rbac ./web --service-account web -p replicas=3",
        ),
        ("Let KUDO act as the accounts of a namespace", "rbac --namespace shop"),
        ("Does the account of an instance have its rights?", "rbac --instance web --check"),
        ("What would fail if KUDO became strict?", "rbac --check --all-namespaces"),
    ),
)
