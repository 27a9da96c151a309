"""Upgrades an Instance: to the version of a package, or to one that is in the cluster.

`upgrade` and `install --upgrade` come here. The same call has the same result, however often it
runs: what is there already stays.
"""

import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from kubectl_kudo.accounts.giving import Giving
from kubectl_kudo.instances.answers import nothing_changed, print_changes
from kubectl_kudo.instances.parameters import set_parameters
from kubectl_kudo.instances.updating import update
from kubectl_kudo.instances.version_changes import (
    Steps,
    check_newer,
    check_replaceable,
    run_again,
    run_children_again,
    steps_of,
)
from kubectl_kudo.packages.install_set import InstallSet, as_declared, check_instance
from kubectl_kudo.packages.installation import Installation, described
from kubectl_kudo.packages.installed import (
    check_server,
    find_installed,
    lookup_in,
    version_of_operator,
)
from kubectl_kudo.reading.changes import changed_values, changes
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
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.kinds import INSTANCES, OPERATOR_VERSIONS
from kubectl_kudo.session.output import JsonObject, say, talk
from kubectl_kudo.session.session import Session
from kudo.api import Instance, OperatorVersion
from kudo.api.base import ApiObject
from kudo.api.names import PLAN_DEPLOY
from kudo.packages.resolution import check_installed
from kudo.parameters.settings import Settings, assignment, settings_of

_Object = TypeVar("_Object", bound=ApiObject)


async def existing(session: Session, name: str) -> JsonObject:
    """Return the Instance to upgrade.

    Raises:
        CliError: there is none of that name.
    """
    instance = await session.instance(name)
    if instance is None:
        raise CliError(
            f"instance {session.namespace}/{name} does not exist in the cluster",
            code=ExitCode.NOT_FOUND,
        )
    return instance


async def upgrade_in_cluster(session: Session, args: Args, values: Settings) -> None:
    """Upgrade an Instance to a version of its operator that is in its namespace.

    What the version depends on was installed with it; what was deleted since is an error.

    Raises:
        CliError: there is no such version; the upgrade would be denied, or is none.
    """
    before = await existing(session, args.instance)
    installed = _read(OperatorVersion, await session.existing_version_of(before))
    versions = (await session.client.list(OPERATOR_VERSIONS, namespace=session.namespace)).items
    version = version_of_operator(
        session.namespace, versions, installed.operator_name, args.to, args.app_version
    )
    if version_key(before) == (session.namespace, version.metadata.name):
        await _update_or_leave(session, args, before, version, values)
        return
    upgrade = await _checked(session, args, before, version, values)
    check_installed(version, lookup_in(session.namespace, versions))
    await check_server(session, version)
    after = await _send(session, before, upgrade)
    await _answer(session, args, before, after, upgrade)


async def _update_or_leave(
    session: Session,
    args: Args,
    before: JsonObject,
    version: OperatorVersion,
    values: Settings,
) -> None:
    """Set the values of an Instance that has the version already."""
    after = before
    if changed_values(before, as_declared(version, values)):
        after = await _updated(session, before, version, values, run=False)
        wire = version.to_wire()
        lines = changes(before, after, wire, wire)
        print_changes(session.report, before, after, lines, waits=args.wait)
    else:
        and_values = " and these values" if values else ""
        text = f"has version {version.spec.version or version.metadata.name}{and_values} already"
        nothing_changed(session.report, before, text)
    session.report.show_all(session.writes.objects)
    if args.wait and not session.report.dry:
        await _wait_for_present(session, args, before, after)


async def upgrade_to(
    session: Session,
    args: Args,
    install_set: InstallSet,
    before: JsonObject,
    values: Settings,
    giving: Giving | None = None,
) -> None:
    """Upgrade an Instance to the version of the set, its account before it.

    Raises:
        CliError: it would be denied, or is no upgrade.
    """
    upgrade = await _checked(session, args, before, install_set.root.operator_version, values)
    # Only `install` has this flag.
    replace = getattr(args, "replace_version", False)
    installed = await find_installed(session, install_set, replace=replace)
    users = await check_replaceable(session, installed.replaced, before)

    async def write() -> JsonObject:
        # The rights come first: the plan that the write starts needs them.
        async with giving.applied() if giving else nullcontext():
            await run_children_again(session, before, users)
            return await _send(session, before, upgrade)

    after = await Installation(session, install_set, installed).run(write)
    assert after is not None, "the Instance is written"
    await _answer(session, args, before, after, upgrade)


@dataclass(frozen=True, slots=True)
class _Upgrade:
    """An upgrade that was checked.

    Attributes:
        old: The OperatorVersion that the Instance has.
        new: That which it gets.
        steps: What is set with it, and what after it.
    """

    old: JsonObject
    new: OperatorVersion
    steps: Steps


async def _checked(
    session: Session, args: Args, before: JsonObject, new: OperatorVersion, values: Settings
) -> _Upgrade:
    """Return an upgrade, after checking it.

    Raises:
        CliError: it would be denied, or is no upgrade.
    """
    instance, wire = _read(Instance, before), await session.existing_version_of(before)
    old = _read(OperatorVersion, wire)
    check_newer(instance.key, old, new, allow_downgrade=args.allow_downgrade)
    return _Upgrade(wire, new, steps_of(instance, old, new, as_declared(new, values)))


async def _answer(
    session: Session, args: Args, before: JsonObject, after: JsonObject, upgrade: _Upgrade
) -> None:
    """Print what an upgrade has changed; wait if wanted, else print what is left to be set."""
    lines = changes(before, after, upgrade.old, upgrade.new.to_wire())
    print_changes(session.report, before, after, lines, waits=args.wait)
    session.report.show_all(session.writes.objects)
    steps = upgrade.steps
    if args.wait and not session.report.dry:
        await _wait(session, args, before, after, steps)
    elif steps.later:
        flags = flags_of(key_of(before))
        given = [f"-p {shlex.quote(assignment(*each))}" for each in steps.later.items()]
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


async def _send(session: Session, before: JsonObject, upgrade: _Upgrade) -> JsonObject:
    # The version is in the Instance's namespace; null removes a reference to another one.
    reference = {"name": upgrade.new.metadata.name, "namespace": None}
    spec: JsonObject = {"operatorVersion": reference}
    after = await set_parameters(session, before, upgrade.steps.values, spec)
    session.report.done(f"{described(INSTANCES, after)} updated")
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
    values: Settings,
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
        stored = settings_of(before["spec"])
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
    if after is not before:
        old = installed.get(OPERATOR_VERSIONS, version.metadata.name)
        lines = changes(before, after, old, version.to_wire())
        print_changes(session.report, before, after, lines, waits=args.wait)
    session.report.show_all(session.writes.objects)
    if args.wait and not session.report.dry:
        await _wait_for_present(session, args, before, after)


async def _wait_for_present(
    session: Session, args: Args, before: JsonObject, after: JsonObject
) -> None:
    """Wait for the run that the call caused, else for the one in progress or the last one."""
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
    values: Settings,
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
    changed = changed_values(before, as_declared(version, values))
    if changed:
        after = await set_parameters(session, before, changed, {})
        session.report.done(f"{described(INSTANCES, after)} updated")
        plan = triggered_plan(before, after)
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
