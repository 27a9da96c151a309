"""`kubectl kudo upgrade`: upgrades an Instance to the version in a package."""

import shlex
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TypeVar

from pydantic import ValidationError

from kubectl_kudo.accounts.giving import Giving
from kubectl_kudo.commands.update import update
from kubectl_kudo.instances.replace_versions import check_replaceable, run_children_again
from kubectl_kudo.instances.upgrade_checks import Steps, check_newer, steps_of
from kubectl_kudo.packages.install_checks import verify_before_install
from kubectl_kudo.packages.install_set import InstallSet, as_declared, install_set_of
from kubectl_kudo.packages.installation import Installation, described
from kubectl_kudo.packages.installed import find_installed, with_dependencies
from kubectl_kudo.packages.sources import found
from kubectl_kudo.reading.next_commands import flags_of
from kubectl_kudo.reading.outcome import triggered, triggered_plan
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import (
    ALLOW_DOWNGRADE,
    CHANGE_HELP,
    INSTANCE,
    PARAMETERS,
    REPOSITORY,
    SKIP_VERIFY,
    WAITING,
    WRITING,
    Args,
)
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, say, talk
from kubectl_kudo.session.session import Session, in_session
from kubectl_kudo.session.values import given_values
from kudo.api import Instance, OperatorVersion
from kudo.api.base import ApiObject
from kudo.packages.location import Located

_Object = TypeVar("_Object", bound=ApiObject)


def run(args: Args) -> None:
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError("expecting exactly one argument - name of the package or path to upgrade")
    if not args.instance:
        raise UsageError("please use --instance and specify instance name. It cannot be empty")
    values = given_values(args)
    located = found(args)
    in_session(args, lambda session: upgrade(session, args, located, values))


COMMAND = Command(
    run,
    "<name|folder|tgz|url>",
    (INSTANCE, *PARAMETERS, *REPOSITORY, SKIP_VERIFY, ALLOW_DOWNGRADE, *WAITING, *WRITING),
    more="The package must be of the same operator and newer, by operatorVersion or appVersion; "
    "an older\none needs --allow-downgrade. It is verified, and everything is checked, before "
    "anything is changed.\nParameters keep their values.\n\n"
    "Parameters that run a plan of their own can be set only after the upgrade: with --wait the "
    "command\nsets them then, without it the command prints how.\n\n" + CHANGE_HELP,
    examples=(
        ("Upgrade to a newer version and wait for its plan", "upgrade ./web --instance web --wait"),
        (
            "Set a parameter that is new in that version",
            "upgrade ./web-0.2.0.tgz --instance web -p cacheSize=64",
        ),
    ),
)


async def upgrade(session: Session, args: Args, located: Located, values: dict[str, str]) -> None:
    """Check everything, install the version after its dependencies, and set it on the Instance."""
    resolution = await with_dependencies(session, args, located)
    install_set = install_set_of(resolution, session.namespace)
    before = await session.instance(args.instance)
    if before is None:
        raise CliError(
            f"instance {session.namespace}/{args.instance} does not exist in the cluster",
            code=ExitCode.NOT_FOUND,
        )
    verify_before_install(args, located, resolution)
    await upgrade_to(session, args, install_set, before, values)


async def upgrade_to(
    session: Session,
    args: Args,
    install_set: InstallSet,
    before: JsonObject,
    values: dict[str, str],
    giving: Giving | None = None,
) -> None:
    """Upgrade an Instance to the version of the set, its account before it.

    Raises:
        CliError: it would be denied, or is no upgrade.
    """
    version = install_set.root.operator_version
    steps = await _check(session, args, before, version, values)
    # `install` has this flag, too.
    replace = getattr(args, "replace_version", False)
    found = await find_installed(session, install_set, replace=replace)
    users = await check_replaceable(session, found.replaced, before)

    async def write() -> JsonObject:
        async with giving.applied() if giving else nullcontext():
            await run_children_again(session, before, users)
            return await _send(session, before, version, steps.values)

    after = await Installation(session, install_set, found).run(write)
    session.report.show_all(session.writes.objects)
    if args.wait and after is not None and not session.report.dry:
        await _wait(session, args, before, after, steps)
    elif steps.later:
        talk(_still_to_do(session, before["metadata"]["name"], steps))


async def _check(
    session: Session,
    args: Args,
    before: JsonObject,
    version: OperatorVersion,
    values: dict[str, str],
) -> Steps:
    instance = read(Instance, before)
    installed = read(OperatorVersion, await session.existing_version_of(before))
    check_newer(instance.key, installed, version, allow_downgrade=args.allow_downgrade)
    return steps_of(instance, installed, version, as_declared(version, values))


def read(kind: type[_Object], wire: JsonObject) -> _Object:
    """Return an object as a model.

    Raises:
        CliError: it does not match the schema.
    """
    try:
        return kind.from_wire(wire)
    except ValidationError as error:
        name = f"{wire['kind']} {wire['metadata']['namespace']}/{wire['metadata']['name']}"
        raise CliError(f"{name} cannot be read: {error}") from error


async def _send(
    session: Session, before: JsonObject, version: OperatorVersion, values: Mapping[str, str]
) -> JsonObject:
    # `install` puts the version into the Instance's namespace; null removes a reference to another.
    reference = {"name": version.metadata.name, "namespace": None}
    spec: JsonObject = {"operatorVersion": reference}
    if values:
        spec["parameters"] = dict(values)
    after = await session.writes.merge_patch(
        INSTANCES, session.namespace, before["metadata"]["name"], {"spec": spec}
    )
    session.report.done(f"{described(INSTANCES, after)} updated")
    session.report.foretell(triggered_plan(before, after))
    return after


async def _wait(
    session: Session, args: Args, before: JsonObject, after: JsonObject, steps: Steps
) -> None:
    target = triggered(before, after)
    if target is None:
        return
    try:
        await wait_and_show(session, target, after, limit=args.wait_time)
    except CliError as error:
        names = ", ".join(steps.later)
        more = f"\nNot set because of that: {names}." if steps.later else ""
        raise CliError(f"{error}{more}") from error
    say(f"instance {target.key} ready")
    if steps.later:
        await update(session, _for_instance(args, before), dict(steps.later))


def _for_instance(args: Args, instance: JsonObject) -> Args:
    """Return the arguments with the name of the Instance, which `install` may have left out."""
    return Args(**{**vars(args), "instance": instance["metadata"]["name"]})


def _still_to_do(session: Session, name: str, steps: Steps) -> str:
    flags = flags_of(f"{session.namespace}/{name}")
    given = " ".join(f"-p {shlex.quote(f'{name}={value}')}" for name, value in steps.later.items())
    return (
        f"Not set yet: {', '.join(steps.later)}. Their change runs plan {steps.later_plan}, which "
        f"cannot run together with the upgrade. Once its plan {steps.plan} is COMPLETE, set them:\n"
        f"  kubectl kudo plan wait {flags}\n"
        f"  kubectl kudo update {flags} {given}"
    )
