"""Installs a package: its Operator, its OperatorVersion and an Instance of it.

The packages that it depends on are installed with it, without Instances: its plans create those.
"""

from functools import partial

from kubectl_kudo.core.arguments import CLIENT, Args
from kubectl_kudo.core.errors import CliError, describe
from kubectl_kudo.core.kinds import INSTANCES
from kubectl_kudo.core.output import JsonObject, say
from kubectl_kudo.core.session import Session, in_session
from kubectl_kudo.core.writes import dry_run_mode
from kubectl_kudo.instances.values import given_values
from kubectl_kudo.packages.install_set import checked_instance, install_set_of
from kubectl_kudo.packages.installation import Installation, described
from kubectl_kudo.packages.installed import check_namespace, find_installed
from kubectl_kudo.packages.resolving import with_dependencies
from kubectl_kudo.packages.sources import found as found_package
from kubectl_kudo.state.outcome import triggered, triggered_plan
from kubectl_kudo.state.waiting import wait_and_show
from kubeio.errors import AlreadyExists, ApiError, ConfigError, ConnectionLost
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
    install_set = install_set_of(await with_dependencies(session, args, located), session.namespace)
    instance = None if args.skip_instance else checked_instance(install_set, args.instance, values)
    await check_namespace(session)
    found = await find_installed(session, install_set)
    if instance is not None:
        await _check_absent(session, instance["metadata"]["name"])
    create = partial(_create, session, instance) if instance else None
    created = await Installation(session, install_set, found).run(create)
    session.report.show_all(session.writes.objects)
    if created is not None and args.wait and not session.report.dry:
        await _wait(session, created, args.wait_time)


async def _check_absent(session: Session, name: str) -> None:
    if await session.instance(name) is not None:
        raise _already_there(name, session.namespace)


async def _create(session: Session, instance: JsonObject) -> JsonObject:
    try:
        made = await session.writes.create(INSTANCES, instance)
    except AlreadyExists:
        raise _already_there(instance["metadata"]["name"], session.namespace) from None
    except ApiError as error:
        text = f"failed to create {described(INSTANCES, instance)}: {describe(error)}"
        raise CliError(text) from error
    session.report.done(f"{described(INSTANCES, made)} created")
    session.report.foretell(triggered_plan(None, made))
    return made


def _already_there(name: str, namespace: str) -> CliError:
    return CliError(
        f"cannot install instance '{name}' because an instance of that name already exists in "
        f"namespace {namespace}"
    )


async def _wait(session: Session, instance: JsonObject, limit: int) -> None:
    target = triggered(None, instance)
    if target is not None:
        await wait_and_show(session, target, instance, limit=limit)
        say(f"instance {target.key} ready")
