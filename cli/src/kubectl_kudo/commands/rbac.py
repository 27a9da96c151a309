"""`kubectl kudo rbac`: prints and checks the rights that plans need from their account."""

import asyncio
from collections.abc import Sequence

from kubectl_kudo.accounts.actors import Accounts, reconciler_of
from kubectl_kudo.accounts.giving import Document, Owner, documents_of, impersonator, text_of
from kubectl_kudo.accounts.rights import RightsInCluster, Versions, rights_without_cluster
from kubectl_kudo.accounts.rights_check import check
from kubectl_kudo.packages.install_set import (
    InstallSet,
    checked_instance,
    install_set_of,
    versions_of,
)
from kubectl_kudo.packages.installed import no_cluster, with_dependencies
from kubectl_kudo.packages.sources import found as found_package
from kubectl_kudo.packages.sources import resolve_names
from kubectl_kudo.session.arguments import (
    INSTANCE,
    OUTPUT,
    PARAMETERS,
    REPOSITORY,
    Args,
    Flag,
)
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError, describe
from kubectl_kudo.session.names import name_fault
from kubectl_kudo.session.output import check_format, many, talk, warn
from kubectl_kudo.session.session import Session, in_session, namespace_of
from kubectl_kudo.session.values import given_values
from kubeio.errors import ConfigError, ConnectionLost
from kudo.admission.tenancy import DEFAULT_ACCOUNT, is_reserved
from kudo.api import Instance
from kudo.packages.location import Located
from kudo.parameters.settings import Settings
from kudo.permissions.model import Rights
from kudo.permissions.rights import escalations

_LONGEST = 500
_OF_ALL_PODS = (
    f"the account {DEFAULT_ACCOUNT} is also that of each pod of the namespace that names none: "
    "better have the instance name its own (--service-account)"
)


def run(args: Args) -> None:
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
    if args.check:
        check(args)
        return
    check_format(args.output)
    account = args.service_account
    fault = name_fault("service account", account) if account else ""
    if fault:
        raise CliError(fault, code=ExitCode.USAGE)
    if args.arguments:
        print_for_package(args)
    elif args.instance:
        in_session(args, lambda session: print_for_instance(session, args))
    else:
        in_session(args, lambda session: print_impersonator(session, args))


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


async def print_for_instance(session: Session, args: Args) -> None:
    """Print what the account of an Instance needs."""
    wire = await session.existing_instance(args.instance)
    await session.existing_version_of(wire)
    instance, versions = Instance.from_wire(wire), Versions(session.client)
    version = await versions.find(instance.operator_version_key)
    if version is None:
        key = "/".join(instance.operator_version_key)
        raise CliError(f"operatorversion {key} cannot be read", code=ExitCode.INVALID)
    rights = await RightsInCluster(session.client, versions).of(version, instance, {})
    account = args.service_account or await Accounts(session.client).of(instance)
    _print(args, Owner(session.namespace, args.instance, account), rights)


def print_for_package(args: Args) -> None:
    """Print what an Instance of a package will need; without a cluster, from tables."""
    values, located = given_values(args), found_package(args)
    try:
        in_session(args, lambda session: _for_package(session, args, located, values))
    except (ConfigError, ConnectionLost) as error:
        # The author of a package may have no cluster: the kinds are then looked up in tables.
        talk(f"No cluster could be reached, so kinds are not looked up: {describe(error)}")
        _without_cluster(args, located, values)


async def _for_package(session: Session, args: Args, located: Located, values: Settings) -> None:
    resolution = await with_dependencies(session, args, located)
    install_set = install_set_of(resolution, session.namespace)
    instance = _instance(args, install_set, values)
    lookup = RightsInCluster(session.client, Versions(session.client))
    rights = await lookup.of(install_set.root.operator_version, instance, versions_of(install_set))
    account = args.service_account or await Accounts(session.client).of(instance)
    _print(args, Owner(session.namespace, instance.metadata.name, account), rights)


def _without_cluster(args: Args, located: Located, values: Settings) -> None:
    resolution = asyncio.run(resolve_names(located, no_cluster, args))
    namespace = namespace_of(args)
    install_set = install_set_of(resolution, namespace)
    instance = _instance(args, install_set, values)
    version = install_set.root.operator_version
    rights = rights_without_cluster(version, instance, versions_of(install_set))
    account = args.service_account or DEFAULT_ACCOUNT
    _print(args, Owner(namespace, instance.metadata.name, account), rights)


def _instance(args: Args, install_set: InstallSet, values: Settings) -> Instance:
    return Instance.from_wire(checked_instance(install_set, args.instance_name, values))


async def print_impersonator(session: Session, args: Args) -> None:
    """Print the RoleBinding that lets the reconciler act as the accounts of a namespace."""
    own = await reconciler_of(session.client, args.kudo_namespace)
    # The admission rules refuse such namespaces as well: a binding there would be of no use.
    if is_reserved(session.namespace, own.namespace):
        ours = session.namespace == own.namespace
        why = "KUDO itself is there" if ours else "Kubernetes reserves kube-*"
        raise CliError(
            f"KUDO acts as no account of namespace {session.namespace}: {why}, and whoever may "
            "create instances there would get the rights of its accounts",
            code=ExitCode.DENIED,
        )
    _show(args, [impersonator(session.namespace, own)], ())


def _print(args: Args, owner: Owner, rights: Rights) -> None:
    # Never left out: who applies the output hands out these rights.
    notes = (*rights.notes, *(f"lets the account get more: {rule}" for rule in escalations(rights)))
    if owner.account == DEFAULT_ACCOUNT:
        notes += (_OF_ALL_PODS,)
    _show(args, documents_of(owner, rights), notes)


def _show(args: Args, documents: Sequence[Document], notes: Sequence[str]) -> None:
    """Print documents; notes are on stderr, too, where the output may go straight to kubectl."""
    for note in notes:
        warn(printable(note, _LONGEST))
    if args.output:
        print(many((document.object for document in documents), args.output), end="")
    else:
        print(text_of(documents, notes), end="")
