"""Prints the objects that give accounts the rights that plans need."""

import asyncio
from collections.abc import Sequence

from kubectl_kudo.accounts.actors import Accounts, reconciler_of
from kubectl_kudo.accounts.objects import Document, Owner, documents_of, impersonator, text_of
from kubectl_kudo.accounts.rights import RightsInCluster, Versions, rights_without_cluster
from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.cells import printable
from kubectl_kudo.core.errors import CliError, ExitCode, describe
from kubectl_kudo.core.naming import name_fault
from kubectl_kudo.core.output import check_format, many, talk, warn
from kubectl_kudo.core.session import Session, in_session, namespace_of
from kubectl_kudo.core.values import given_values
from kubectl_kudo.packages.install_set import (
    InstallSet,
    checked_instance,
    install_set_of,
    versions_of,
)
from kubectl_kudo.packages.installed import with_dependencies
from kubectl_kudo.packages.installed_versions import no_cluster
from kubectl_kudo.packages.resolving import resolve_names
from kubectl_kudo.packages.sources import found as found_package
from kubeio.errors import ConfigError, ConnectionLost
from kudo.api import Instance
from kudo.packages import Located
from kudo.permissions import Rights, escalations
from kudo.tenancy import DEFAULT_ACCOUNT, is_reserved

_LONGEST = 500
_OF_ALL_PODS = (
    f"the account {DEFAULT_ACCOUNT} is also that of each pod of the namespace that names none: "
    "better have the instance name its own (--service-account)"
)


def print_for_instance(args: Args) -> None:
    """Print what the account of an Instance needs."""
    _check_flags(args)
    in_session(args, lambda session: _for_instance(session, args))


async def _for_instance(session: Session, args: Args) -> None:
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
    _check_flags(args)
    values, located = given_values(args), found_package(args)
    try:
        in_session(args, lambda session: _for_package(session, args, located, values))
    except (ConfigError, ConnectionLost) as error:
        talk(f"No cluster could be reached, so kinds are not looked up: {describe(error)}")
        _without_cluster(args, located, values)


async def _for_package(
    session: Session, args: Args, located: Located, values: dict[str, str]
) -> None:
    resolution = await with_dependencies(session, args, located)
    install_set = install_set_of(resolution, session.namespace)
    instance = _instance(args, install_set, values)
    lookup = RightsInCluster(session.client, Versions(session.client))
    rights = await lookup.of(install_set.root.operator_version, instance, versions_of(install_set))
    account = args.service_account or await Accounts(session.client).of(instance)
    _print(args, Owner(session.namespace, instance.metadata.name, account), rights)


def _without_cluster(args: Args, located: Located, values: dict[str, str]) -> None:
    resolution = asyncio.run(resolve_names(located, no_cluster, args))
    namespace = namespace_of(args)
    install_set = install_set_of(resolution, namespace)
    instance = _instance(args, install_set, values)
    version = install_set.root.operator_version
    rights = rights_without_cluster(version, instance, versions_of(install_set))
    account = args.service_account or DEFAULT_ACCOUNT
    _print(args, Owner(namespace, instance.metadata.name, account), rights)


def _instance(args: Args, install_set: InstallSet, values: dict[str, str]) -> Instance:
    return Instance.from_wire(checked_instance(install_set, args.instance_name, values))


def print_impersonator(args: Args) -> None:
    """Print the RoleBinding that lets the reconciler act as the accounts of a namespace."""
    _check_flags(args)
    in_session(args, lambda session: _impersonator(session, args))


async def _impersonator(session: Session, args: Args) -> None:
    own = await reconciler_of(session.client, args.kudo_namespace)
    if is_reserved(session.namespace, own.namespace):
        ours = session.namespace == own.namespace
        why = "KUDO itself is there" if ours else "Kubernetes reserves kube-*"
        raise CliError(
            f"KUDO acts as no account of namespace {session.namespace}: {why}, and whoever may "
            "create instances there would get the rights of its accounts",
            code=ExitCode.DENIED,
        )
    _show(args, [impersonator(session.namespace, own)], ())


def _check_flags(args: Args) -> None:
    check_format(args.output)
    fault = name_fault("service account", args.service_account) if args.service_account else ""
    if fault:
        raise CliError(fault, code=ExitCode.USAGE)


def _print(args: Args, owner: Owner, rights: Rights) -> None:
    notes = (*rights.notes, *(f"lets the account get more: {one}" for one in escalations(rights)))
    if owner.account == DEFAULT_ACCOUNT:
        notes += (_OF_ALL_PODS,)
    _show(args, documents_of(owner, rights), notes)


def _show(args: Args, documents: Sequence[Document], notes: Sequence[str]) -> None:
    """Print documents; notes are on stderr, too, where the output may go straight to kubectl."""
    for note in notes:
        warn(printable(note, _LONGEST))
    if args.output:
        print(many((one.object for one in documents), args.output), end="")
    else:
        print(text_of(documents, notes), end="")
