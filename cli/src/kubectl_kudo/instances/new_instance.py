"""Creates an Instance and its account: of a package, or of an operator that is installed.

Without a cluster, `install --dry-run=client` checks the package alone: the installed objects, the
version of Kubernetes and the namespace are unknown.
"""

import asyncio
from collections.abc import Sequence

from kubectl_kudo.accounts.giving import Giving, Owner, check_escalation, documents_of, tell_rules
from kubectl_kudo.accounts.rights import (
    NewVersions,
    RightsInCluster,
    Versions,
    rights_without_cluster,
)
from kubectl_kudo.accounts.rights_check import check_strict
from kubectl_kudo.packages.install_set import (
    InstallSet,
    as_declared,
    check_instance,
    checked_instance,
    install_set_of,
    verify_before_install,
    versions_of,
)
from kubectl_kudo.packages.installation import described, new_namespace
from kubectl_kudo.packages.installed import check_server, lookup_in, no_cluster
from kubectl_kudo.packages.sources import resolve_names
from kubectl_kudo.reading.instance_state import flags_of
from kubectl_kudo.reading.outcome import triggered, triggered_plan
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.dry_run import OnClient
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError, describe
from kubectl_kudo.session.kinds import INSTANCES, OPERATOR_VERSIONS
from kubectl_kudo.session.names import name_fault
from kubectl_kudo.session.output import JsonObject, say
from kubectl_kudo.session.session import Session, namespace_of, report_of
from kubeio.errors import AlreadyExists, ApiError
from kubeio.resource import NAMESPACES
from kudo.api import Instance, OperatorVersion, default_instance_name
from kudo.api.names import API_VERSION, LABEL_OPERATOR
from kudo.packages.location import Located
from kudo.packages.resolution import Requirement, check_installed
from kudo.parameters.settings import Settings, with_settings


async def check_absent(session: Session, name: str) -> None:
    """Check that there is no Instance of a name.

    Raises:
        CliError: there is one.
    """
    if await session.instance(name) is not None:
        raise _already_there(name, session.namespace)


async def create_instance(session: Session, instance: JsonObject) -> JsonObject:
    """Create an Instance, tell it and return it.

    Raises:
        CliError: there is one of that name, or the API server denies it.
    """
    try:
        created = await session.writes.create(INSTANCES, instance)
    except AlreadyExists:  # created by somebody else since `check_absent`
        raise _already_there(instance["metadata"]["name"], session.namespace) from None
    except ApiError as error:
        text, prefix = describe(error) or str(error), "failed to create an Instance "
        # A denial of the webhook begins like this already.
        if not text.startswith(prefix):
            text = f"failed to create {described(INSTANCES, instance)}: {text}"
        raise CliError(text) from error
    session.report.done(f"{described(INSTANCES, created)} created")
    session.report.foretell(triggered_plan(None, created))
    return created


def _already_there(name: str, namespace: str) -> CliError:
    return CliError(
        f"cannot install instance '{name}' because an instance of that name already exists in "
        f"namespace {namespace}; change its parameters with `kubectl kudo update` and its version "
        "with `kubectl kudo upgrade`, or either with `kubectl kudo install --upgrade`"
    )


async def wait_until_deployed(
    session: Session, instance: JsonObject, limit: int, *, operators: Sequence[str] = ()
) -> None:
    """Wait for the plan that the creation started, at most `limit` seconds.

    Args:
        session: The connection.
        instance: The Instance as it was created.
        limit: Seconds to wait; 0 for no limit.
        operators: What this call created before it, as result lines name objects.

    Raises:
        CliError: the plan fails, or does not end in time; the text names what was created, and the
            commands that remove it.
    """
    target = triggered(None, instance)
    if target is None:
        return
    try:
        await wait_and_show(session, target, instance, limit=limit)
    except CliError as error:
        created = ", ".join([*operators, described(INSTANCES, instance)])
        commands = f"  kubectl kudo uninstall {flags_of(target.key)} --wait"
        if operators:
            commands += f"\n  kubectl kudo uninstall --all-unused -n {session.namespace}"
        error.add_note(f"\nCreated: {created}. To remove it:\n{commands}")
        raise
    say(f"instance {target.key} ready")


def account_of_install(args: Args, instance: str) -> str:
    """Return the account that the flags name; empty if they name none.

    Raises:
        UsageError: no account can have the name.
    """
    name = args.service_account or (instance if args.create_service_account else "")
    fault = name_fault("service account", name) if name else ""
    if fault:
        raise UsageError(fault)
    return name


def with_account(args: Args, instance: JsonObject) -> JsonObject:
    """Return an Instance that names the account of the flags; as it is if they name none."""
    name = account_of_install(args, instance["metadata"]["name"])
    if not name:
        return instance
    return {**instance, "spec": {**instance["spec"], "serviceAccountName": name}}


def check_same_account(args: Args, before: JsonObject) -> None:
    """Check that an Instance that exists acts as the account of the flags.

    Raises:
        CliError: it does not.
    """
    name = before["metadata"]["name"]
    account = account_of_install(args, name)
    present = before["spec"].get("serviceAccountName") or ""
    if account and account != present:
        raise CliError(
            f"instance {name} acts as {present or 'no account of its own'}, not as {account}; "
            f"change that first: kubectl kudo update --instance {name} --service-account {account}"
        )


async def giving_of(
    session: Session, args: Args, version: OperatorVersion, instance: JsonObject, new: NewVersions
) -> Giving | None:
    """Return what gives the account of an Instance its rights; None without the flag.

    Args:
        session: The connection.
        args: The command line.
        version: The OperatorVersion of the Instance.
        instance: The Instance, which may not exist yet.
        new: OperatorVersions that are not in the cluster yet: a child may need their rights.

    Raises:
        CliError: the rights let the account get more, and `--allow-escalation` is not given.
    """
    if not args.create_service_account:
        return None
    lookup = RightsInCluster(session.client, Versions(session.client))
    rights = await lookup.of(version, Instance.from_wire(instance), new)
    return Giving.of(session, _owner(instance), rights, escalation=args.allow_escalation)


def _owner(instance: JsonObject) -> Owner:
    """Return the Instance and its account, as the rights of the account name them."""
    metadata, account = instance["metadata"], instance["spec"]["serviceAccountName"]
    return Owner(metadata["namespace"], metadata["name"], account)


async def install_in_cluster(session: Session, args: Args, values: Settings) -> None:
    """Create an Instance of an operator that is installed, and wait for it with `--wait`.

    What the operator depends on was installed with it; what was deleted since is an error.
    """
    listing = await session.client.list(OPERATOR_VERSIONS, namespace=session.namespace)
    if not listing.items:
        text = f"failed to find any operator version in namespace {session.namespace}"
        raise CliError(text, code=ExitCode.NOT_FOUND)
    lookup = lookup_in(session.namespace, listing.items)
    version = lookup(Requirement(args.arguments[0], args.operator_version, args.app_version))
    assert isinstance(version, OperatorVersion), "an installed version is no package"
    check_installed(version, lookup)
    declared, operator = as_declared(version, values), version.operator_name
    name = args.instance or default_instance_name(operator)
    instance = with_account(
        args,
        {
            "apiVersion": API_VERSION,
            "kind": "Instance",
            "metadata": {
                "name": name,
                "namespace": session.namespace,
                "labels": {LABEL_OPERATOR: operator},
            },
            # KUDO 0.19 put this name together from the flags, app and operator version swapped.
            "spec": with_settings({"operatorVersion": {"name": version.metadata.name}}, declared),
        },
    )
    check_instance(name, version, declared)
    await check_server(session, version)
    await check_absent(session, name)
    await check_strict(session, args, instance, {})
    giving = await giving_of(session, args, version, instance, {})
    if giving is None:
        created = await create_instance(session, instance)
    else:
        await giving.check()
        async with giving.applied():
            created = await create_instance(session, instance)
    session.report.show_all(session.writes.objects)
    if args.wait and not session.report.dry:
        await wait_until_deployed(session, created, args.wait_time)


def try_install(args: Args, located: Located, values: Settings) -> None:
    """Print what installing the package would create and run.

    Raises:
        InvalidInput: the package cannot be installed anywhere.
        CliError: this Instance of it cannot be created.
    """
    resolution = asyncio.run(resolve_names(located, no_cluster, args))
    install_set = install_set_of(resolution, namespace_of(args))
    instance = None
    if not args.skip_instance:
        instance = with_account(args, checked_instance(install_set, args.instance, values))
    verify_before_install(args, located, resolution)
    namespace = None
    if args.create_namespace:
        name = instance["metadata"]["name"] if instance else args.instance
        root = install_set.root
        namespace = new_namespace(resolution.root, root, namespace_of(args), name, values)
    asyncio.run(_evaluate(args, install_set, instance, namespace))


async def _evaluate(
    args: Args,
    install_set: InstallSet,
    instance: JsonObject | None,
    namespace: JsonObject | None,
) -> None:
    """Evaluate and print what an installation would write, in its order."""
    writes, report = OnClient(None), report_of(args)
    if namespace is not None:
        await writes.create(NAMESPACES, namespace)
        report.done(f"{described(NAMESPACES, namespace)} created")
    for kind, obj in install_set.in_order():
        await writes.create(kind, obj)
        report.done(f"{described(kind, obj)} created")
    if instance is not None:
        if args.create_service_account:
            version, owner = install_set.root.operator_version, _owner(instance)
            rights = rights_without_cluster(
                version, Instance.from_wire(instance), versions_of(install_set)
            )
            check_escalation(owner, rights, allowed=args.allow_escalation)
            for document in documents_of(owner, rights):
                await writes.apply(document.kind, document.object)
                report.done(f"{described(document.kind, document.object)} created")
                tell_rules(report, document)
        created = await writes.create(INSTANCES, instance)
        report.done(f"{described(INSTANCES, instance)} created")
        report.foretell(triggered_plan(None, created))
    report.show_all(writes.objects)
