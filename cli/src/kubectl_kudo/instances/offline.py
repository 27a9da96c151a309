"""`kubectl kudo install --dry-run=client` where no cluster can be reached.

Only the package is checked: the installed objects, the version of Kubernetes and the namespace are
unknown.
"""

import asyncio

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.dry_run import OnClient
from kubectl_kudo.core.kinds import INSTANCES
from kubectl_kudo.core.output import JsonObject, talk
from kubectl_kudo.core.session import namespace_of, report_of
from kubectl_kudo.packages.install_set import InstallSet, checked_instance, install_set_of
from kubectl_kudo.packages.install_verification import verify_before_install
from kubectl_kudo.packages.installation import described
from kubectl_kudo.packages.installed_versions import no_cluster
from kubectl_kudo.packages.new_namespace import new_namespace
from kubectl_kudo.packages.resolving import resolve_names
from kubectl_kudo.state.outcome import triggered_plan
from kubeio.kinds import NAMESPACES
from kudo.packages import Located


def try_install(args: Args, located: Located, values: dict[str, str], *, why: str) -> None:
    """Print what installing the package would create and run, and why no cluster was reached.

    Raises:
        InvalidInput: the package cannot be installed anywhere.
        CliError: this Instance of it cannot be created.
    """
    talk(f"No cluster could be reached, so only the package is checked: {why}")
    resolution = asyncio.run(resolve_names(located, no_cluster, args))
    install_set = install_set_of(resolution, namespace_of(args))
    instance = None if args.skip_instance else checked_instance(install_set, args.instance, values)
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
        made = await writes.create(INSTANCES, instance)
        report.done(f"{described(INSTANCES, instance)} created")
        report.foretell(triggered_plan(None, made))
    report.show_all(writes.objects)
