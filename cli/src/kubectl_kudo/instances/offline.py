"""`kubectl kudo install --dry-run=client` without a cluster: none can be reached, or none is read.

Only the package is checked: the installed objects, the version of Kubernetes and the namespace are
unknown.
"""

import asyncio

from kubectl_kudo.accounts.giving import check_escalation, tell_rules
from kubectl_kudo.accounts.objects import Owner, documents_of
from kubectl_kudo.accounts.rights import rights_without_cluster
from kubectl_kudo.instances.given_account import with_account
from kubectl_kudo.packages.install_checks import verify_before_install
from kubectl_kudo.packages.install_set import (
    InstallSet,
    checked_instance,
    install_set_of,
    versions_of,
)
from kubectl_kudo.packages.installation import described
from kubectl_kudo.packages.installed_versions import no_cluster
from kubectl_kudo.packages.new_namespace import new_namespace
from kubectl_kudo.packages.resolving import resolve_names
from kubectl_kudo.reading.outcome import triggered_plan
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.dry_run import OnClient
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.report import Report
from kubectl_kudo.session.session import namespace_of, report_of
from kubeio.kinds import NAMESPACES
from kudo.api import Instance
from kudo.packages.location import Located


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
