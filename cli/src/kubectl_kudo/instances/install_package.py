"""Installs a package: its Operator, its OperatorVersion and an Instance of it.

The packages that it depends on are installed with it, without Instances: its plans create those.
"""

from functools import partial

from kubectl_kudo.core.arguments import CLIENT, Args
from kubectl_kudo.core.errors import describe
from kubectl_kudo.core.session import Session, in_session
from kubectl_kudo.core.values import given_values
from kubectl_kudo.core.writes import dry_run_mode
from kubectl_kudo.instances.create_instance import (
    check_absent,
    create_instance,
    wait_until_deployed,
)
from kubectl_kudo.packages.install_set import checked_instance, install_set_of
from kubectl_kudo.packages.installation import Installation
from kubectl_kudo.packages.installed import check_namespace, find_installed
from kubectl_kudo.packages.new_namespace import check_new, new_namespace
from kubectl_kudo.packages.resolving import with_dependencies
from kubectl_kudo.packages.sources import found as found_package
from kubeio.errors import ConfigError, ConnectionLost
from kudo.packages import Located


def install_package(args: Args) -> None:
    """Install the package that the argument names; for a dry run without a cluster, check it."""
    values = given_values(args)
    located = found_package(args)
    try:
        in_session(args, lambda session: install(session, args, located, values))
    except (ConfigError, ConnectionLost) as error:
        if dry_run_mode(args) != CLIENT:
            raise
        from kubectl_kudo.instances.offline import try_install

        try_install(args, located, values, why=describe(error) or "")


async def install(session: Session, args: Args, located: Located, values: dict[str, str]) -> None:
    """Check everything, create what is missing and, if wanted, wait for the deployment."""
    resolution = await with_dependencies(session, args, located)
    install_set = install_set_of(resolution, session.namespace)
    instance = None if args.skip_instance else checked_instance(install_set, args.instance, values)
    namespace = None
    if args.create_namespace:
        await check_new(session)
        name = instance["metadata"]["name"] if instance else args.instance
        root = install_set.root
        namespace = new_namespace(resolution.root, root, session.namespace, name, values)
    else:
        await check_namespace(session)
    found = await find_installed(session, install_set)
    if instance is not None:
        await check_absent(session, instance["metadata"]["name"])
    create = partial(create_instance, session, instance) if instance else None
    installation = Installation(session, install_set, found, namespace=namespace)
    created = await installation.run(create)
    session.report.show_all(session.writes.objects)
    if created is not None and args.wait and not session.report.dry:
        await wait_until_deployed(session, created, args.wait_time, operators=installation.created)
