"""Creates an Instance and its account: of a package, or of an operator that is installed.

Without a cluster, `install --dry-run=client` checks the package alone: the installed objects, the
version of Kubernetes and the namespace are unknown.
"""

import asyncio
from collections.abc import Sequence

from kubectl_kudo.accounts.giving import Giving, Owner, check_escalation, documents_of, tell_rules
from kubectl_kudo.accounts.rights import Known, RightsInCluster, Versions, rights_without_cluster
from kubectl_kudo.accounts.strict_check import check_strict
from kubectl_kudo.packages.install_set import (
    InstallSet,
    as_declared,
    check_instance,
    check_kubernetes,
    checked_instance,
    install_set_of,
    verify_before_install,
    versions_of,
)
from kubectl_kudo.packages.installation import described, new_namespace
from kubectl_kudo.packages.installed import lookup_in, no_cluster
from kubectl_kudo.packages.sources import resolve_names
from kubectl_kudo.reading.instance_state import removal
from kubectl_kudo.reading.outcome import triggered, triggered_plan
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.dry_run import OnClient
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError, describe
from kubectl_kudo.session.kinds import INSTANCES, OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.session.names import name_fault
from kubectl_kudo.session.output import JsonObject, Report, say
from kubectl_kudo.session.session import Session, in_session, namespace_of, report_of
from kubectl_kudo.session.values import given_values
from kubeio.errors import AlreadyExists, ApiError, NotFound
from kubeio.kinds import NAMESPACES
from kudo.api import Instance, OperatorVersion, default_instance_name
from kudo.api.names import API_VERSION, LABEL_OPERATOR
from kudo.packages.location import Located
from kudo.packages.resolution import Requirement, check_installed


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
        made = await session.writes.create(INSTANCES, instance)
    except AlreadyExists:
        raise _already_there(instance["metadata"]["name"], session.namespace) from None
    except ApiError as error:
        raise CliError(_not_created(instance, error)) from error
    session.report.done(f"{described(INSTANCES, made)} created")
    session.report.foretell(triggered_plan(None, made))
    return made


def _not_created(instance: JsonObject, error: ApiError) -> str:
    text = describe(error) or str(error)
    # A denial of the webhook begins like this already.
    told = text.startswith("failed to create an Instance ")
    return text if told else f"failed to create {described(INSTANCES, instance)}: {text}"


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
        names = ", ".join([*operators, described(INSTANCES, instance)])
        commands = removal(target.key, operator=bool(operators))
        error.add_note(f"\nCreated: {names}. To remove it:\n{commands}")
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
    asked = account_of_install(args, name)
    present = before["spec"].get("serviceAccountName") or ""
    if asked and asked != present:
        raise CliError(
            f"instance {name} acts as {present or 'no account of its own'}, not as {asked}; change "
            f"that first: kubectl kudo update --instance {name} --service-account {asked}"
        )


async def giving_of(
    session: Session, args: Args, version: OperatorVersion, wire: JsonObject, known: Known
) -> Giving | None:
    """Return what gives the account of an Instance its rights; None without the flag.

    Args:
        session: The connection.
        args: The command line.
        version: The OperatorVersion of the Instance.
        wire: The Instance, which may not exist yet.
        known: OperatorVersions that are not in the cluster yet.

    Raises:
        CliError: the rights let the account get more, and `--allow-escalation` is not given.
    """
    if not args.create_service_account:
        return None
    rights = await RightsInCluster(session.client, Versions(session.client)).of(
        version, Instance.from_wire(wire), known
    )
    metadata, account = wire["metadata"], wire["spec"]["serviceAccountName"]
    owner = Owner(metadata["namespace"], metadata["name"], account)
    return Giving.of(session, owner, rights, escalation=args.allow_escalation)


def install_in_cluster(args: Args) -> None:
    """Install an Instance of the operator that the argument names."""
    values = given_values(args)
    in_session(args, lambda session: install(session, args, values))


async def install(session: Session, args: Args, values: dict[str, str]) -> None:
    """Check everything, create the Instance and, if wanted, wait for the deployment."""
    version = await _version(session, args)
    declared = as_declared(version, values)
    instance = with_account(args, _instance(version, args.instance, session.namespace, declared))
    name = instance["metadata"]["name"]
    check_instance(name, version, declared)
    await _check_kubernetes(session, version)
    await check_absent(session, name)
    await check_strict(session, args, instance, {})
    giving = await giving_of(session, args, version, instance, {})
    if giving is None:
        made = await create_instance(session, instance)
    else:
        await giving.check()
        async with giving.applied():
            made = await create_instance(session, instance)
    session.report.show_all(session.writes.objects)
    if args.wait and not session.report.dry:
        await wait_until_deployed(session, made, args.wait_time)


async def _version(session: Session, args: Args) -> OperatorVersion:
    listing = await session.client.list(OPERATOR_VERSIONS, namespace=session.namespace)
    if not listing.items:
        text = f"failed to find any operator version in namespace {session.namespace}"
        raise CliError(text, code=ExitCode.NOT_FOUND)
    asked = Requirement(args.arguments[0], args.operator_version, args.app_version)
    lookup = lookup_in(session.namespace, listing.items)
    found = lookup(asked)
    assert isinstance(found, OperatorVersion), "an installed version is no package"
    check_installed(found, lookup)
    return found


def _instance(
    version: OperatorVersion, name: str, namespace: str, values: dict[str, str]
) -> JsonObject:
    operator = version.operator_name
    return {
        "apiVersion": API_VERSION,
        "kind": "Instance",
        "metadata": {
            "name": name or default_instance_name(operator),
            "namespace": namespace,
            "labels": {LABEL_OPERATOR: operator},
        },
        # KUDO 0.19 made up this name of the flags, app and operator version swapped.
        "spec": {"operatorVersion": {"name": version.metadata.name}, "parameters": values},
    }


async def _check_kubernetes(session: Session, version: OperatorVersion) -> None:
    try:
        operator = await session.client.get(
            OPERATORS, version.operator_name, namespace=session.namespace
        )
    except NotFound:  # only the lowest version of Kubernetes is read from it
        return
    required = (operator.get("spec") or {}).get("kubernetesVersion")
    check_kubernetes(required, await session.client.server_version())


def try_install(args: Args, located: Located, values: dict[str, str]) -> None:
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
    asyncio.run(_check(args, install_set, instance, namespace))


async def _check(
    args: Args,
    install_set: InstallSet,
    instance: JsonObject | None,
    namespace: JsonObject | None,
) -> None:
    writes, report = OnClient(None), report_of(args)
    if namespace is not None:
        await writes.create(NAMESPACES, namespace)
        report.done(f"{described(NAMESPACES, namespace)} created")
    for kind, obj in install_set.in_order():
        await writes.create(kind, obj)
        report.done(f"{described(kind, obj)} created")
    if instance is not None:
        await _give(args, install_set, instance, writes, report)
        made = await writes.create(INSTANCES, instance)
        report.done(f"{described(INSTANCES, instance)} created")
        report.foretell(triggered_plan(None, made))
    report.show_all(writes.objects)


async def _give(
    args: Args, install_set: InstallSet, instance: JsonObject, writes: OnClient, report: Report
) -> None:
    """Tell what would give the account of an Instance its rights, if that is wanted."""
    if not args.create_service_account:
        return
    version, metadata = install_set.root.operator_version, instance["metadata"]
    wire, known = Instance.from_wire(instance), versions_of(install_set)
    owner = Owner(metadata["namespace"], metadata["name"], instance["spec"]["serviceAccountName"])
    rights = rights_without_cluster(version, wire, known)
    check_escalation(owner, rights, allowed=args.allow_escalation)
    for document in documents_of(owner, rights):
        await writes.apply(document.kind, document.object)
        report.done(f"{described(document.kind, document.object)} created")
        tell_rules(report, document)
