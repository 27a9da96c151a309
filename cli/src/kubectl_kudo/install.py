"""`kubectl kudo install`: from a package to an Operator, an OperatorVersion and an Instance."""

from functools import partial

from kubectl_kudo.arguments import Args
from kubectl_kudo.errors import CliError, UsageError, describe
from kubectl_kudo.install_checks import check_instance, check_kubernetes, check_package
from kubectl_kudo.installation import Installation, described
from kubectl_kudo.installed import Found, check_namespace, check_same, look
from kubectl_kudo.kinds import FIELD_MANAGER, INSTANCES
from kubectl_kudo.outcome import triggered
from kubectl_kudo.output import JsonObject, say
from kubectl_kudo.resolving import resolve
from kubectl_kudo.session import Session, in_session
from kubectl_kudo.values import given_values
from kubectl_kudo.waiting import wait_and_show
from kubeio.errors import AlreadyExists, ApiError
from kudo.packages import Package, PackageObjects, to_objects


def run(args: Args) -> None:
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError("expecting exactly one argument - name of the package or path to install")
    values = given_values(args)
    package = resolve(args.arguments[0])
    in_session(args, lambda session: install(session, args, package, values))


async def install(session: Session, args: Args, package: Package, values: dict[str, str]) -> None:
    """Check everything, create what is missing and, if wanted, wait for the deployment."""
    objects = to_objects(package, session.namespace)
    instance = None if args.skip_instance else _instance(objects, args.instance, values)
    check_package(objects)
    if instance is not None:
        check_instance(instance["metadata"]["name"], objects.operator_version, values)
    found = await _look(session, objects, instance)
    create = partial(_create, session, instance) if instance else None
    created = await Installation(session, objects, found).run(create)
    if created is not None and args.wait:
        await _wait(session, created, args.wait_time)


def _instance(objects: PackageObjects, name: str, values: dict[str, str]) -> JsonObject:
    wire = objects.instance.to_wire()
    wire["metadata"]["name"] = name or wire["metadata"]["name"]
    wire["spec"]["parameters"] = values
    return wire


async def _look(session: Session, objects: PackageObjects, instance: JsonObject | None) -> Found:
    """Return what is in the cluster already, after checking that the package goes with it."""
    wanted = objects.operator.spec.kubernetes_version
    check_kubernetes(wanted, await session.client.server_version())
    await check_namespace(session)
    version = objects.operator_version
    name = instance["metadata"]["name"] if instance else None
    found = await look(session, objects.operator.metadata.name, version.metadata.name, name)
    if found.operator_version is not None:
        check_same(found.operator_version, version)
        say(f"operatorversion {session.namespace}/{version.metadata.name} already installed")
    if name and found.instance is not None:
        raise _already_there(name, session.namespace)
    return found


async def _create(session: Session, instance: JsonObject) -> JsonObject:
    try:
        made = await session.client.create(INSTANCES, instance, field_manager=FIELD_MANAGER)
    except AlreadyExists:
        raise _already_there(instance["metadata"]["name"], session.namespace) from None
    except ApiError as error:
        text = f"failed to create {described(INSTANCES, instance)}: {describe(error)}"
        raise CliError(text) from error
    say(f"{described(INSTANCES, made)} created")
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
