"""`kubectl kudo upgrade`: upgrades an Instance to the version in a package.

`install --upgrade` comes here as well. The same call has the same result, however often it runs:
what is there already stays.
"""

import shlex
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TypeVar

from pydantic import ValidationError

from kubectl_kudo.accounts.giving import Giving
from kubectl_kudo.commands.update import update
from kubectl_kudo.instances.version_changes import (
    Steps,
    check_newer,
    check_replaceable,
    run_again,
    run_children_again,
    steps_of,
)
from kubectl_kudo.packages.install_set import (
    InstallSet,
    as_declared,
    check_instance,
    install_set_of,
    verify_before_install,
)
from kubectl_kudo.packages.installation import Installation, described
from kubectl_kudo.packages.installed import find_installed, with_dependencies
from kubectl_kudo.packages.sources import found
from kubectl_kudo.reading.instance_state import flags_of, version_key
from kubectl_kudo.reading.outcome import (
    outcome_of,
    outcome_of_present,
    present_run,
    triggered,
    triggered_plan,
)
from kubectl_kudo.reading.runs import key_of
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
from kudo.api.names import PLAN_DEPLOY
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
    version, instance = install_set.root.operator_version, _read(Instance, before)
    installed_version = _read(OperatorVersion, await session.existing_version_of(before))
    check_newer(instance.key, installed_version, version, allow_downgrade=args.allow_downgrade)
    steps = steps_of(instance, installed_version, version, as_declared(version, values))
    # Only `install` has this flag.
    replace = getattr(args, "replace_version", False)
    installed = await find_installed(session, install_set, replace=replace)
    users = await check_replaceable(session, installed.replaced, before)

    async def write() -> JsonObject:
        # The rights come first: the plan that the write starts needs them.
        async with giving.applied() if giving else nullcontext():
            await run_children_again(session, before, users)
            return await _send(session, before, version, steps.values)

    after = await Installation(session, install_set, installed).run(write)
    session.report.show_all(session.writes.objects)
    if args.wait and after is not None and not session.report.dry:
        await _wait(session, args, before, after, steps)
    elif steps.later:
        flags = flags_of(key_of(before))
        given = [f"-p {shlex.quote(f'{name}={value}')}" for name, value in steps.later.items()]
        talk(
            f"Not set yet: {', '.join(steps.later)}. Their change runs plan {steps.later_plan}, "
            f"which cannot run together with the upgrade. Once its plan {steps.plan} is COMPLETE, "
            f"set them:\n  kubectl kudo plan wait {flags}\n"
            f"  kubectl kudo update {flags} {' '.join(given)}"
        )


def _read(kind: type[_Object], wire: JsonObject) -> _Object:
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
        # `install` may have been called without the name of the Instance.
        named = Args(**{**vars(args), "instance": before["metadata"]["name"]})
        await update(session, named, dict(steps.later))


async def bring_to(
    session: Session,
    args: Args,
    install_set: InstallSet,
    before: JsonObject,
    values: dict[str, str],
    giving: Giving | None = None,
) -> None:
    """Upgrade the Instance, or update it if it has the version already.

    What gives its account the rights is applied after all checks, right before the Instance.

    Raises:
        CliError: it would be denied, or its version cannot be replaced.
    """
    version = install_set.root.operator_version
    if version_key(before) != (version.metadata.namespace, version.metadata.name):
        await upgrade_to(session, args, install_set, before, values, giving)
        return
    installed = await find_installed(session, install_set, replace=args.replace_version)
    users = await check_replaceable(session, installed.replaced, before)
    if installed.replaced:
        # All values, by the new content: a write of the Instance checks those that it changes.
        stored = _read(Instance, before).parameters
        kept = {name: value for name, value in stored.items() if version.parameter(name)}
        new = {**kept, **as_declared(version, values)}
        check_instance(before["metadata"]["name"], version, new)

    async def write() -> JsonObject:
        # The rights come first: the plan that the write starts needs them.
        async with giving.applied() if giving else nullcontext():
            await run_children_again(session, before, users)
            return await _updated(session, before, version, values, run=bool(installed.replaced))

    after = await Installation(session, install_set, installed).run(write)
    assert after is not None, "the Instance is written"
    session.report.show_all(session.writes.objects)
    if not args.wait or session.report.dry:
        return
    # For the run that the call caused, else for the one in progress or the last one.
    target, outcome = triggered(before, after), outcome_of
    if target is None:
        target, outcome = present_run(after), outcome_of_present
    if target is not None:
        await wait_and_show(session, target, after, limit=args.wait_time, outcome_of=outcome)
        say(f"instance {target.key} ready")


async def _updated(
    session: Session,
    before: JsonObject,
    version: OperatorVersion,
    values: dict[str, str],
    *,
    run: bool,
) -> JsonObject:
    """Set the values that differ; return the Instance.

    Args:
        session: The connection.
        before: The Instance.
        version: Its OperatorVersion.
        values: The values to set.
        run: Whether the deploy plan runs if no value differs.
    """
    stored = (before.get("spec") or {}).get("parameters") or {}
    declared = as_declared(version, values)
    changed = {name: value for name, value in declared.items() if stored.get(name) != value}
    if changed:
        patch: JsonObject = {"spec": {"parameters": changed}}
        name = before["metadata"]["name"]
        after = await session.writes.merge_patch(INSTANCES, session.namespace, name, patch)
        session.report.done(f"{described(INSTANCES, after)} updated")
        plan = triggered_plan(before, after)
        session.report.foretell(plan)
        if run and plan and plan != PLAN_DEPLOY:
            deploy = f"kubectl kudo plan trigger {flags_of(key_of(after))} --name {PLAN_DEPLOY}"
            talk(
                f"The changed values run plan {plan}. What only plan {PLAN_DEPLOY} applies stays "
                f"as it is until that runs: {deploy}"
            )
        return after
    if run:
        return await run_again(session, before)
    session.report.say(f"{described(INSTANCES, before)} unchanged")
    return before
