"""Brings an Instance that exists to the version and the values of an `install --upgrade`.

The same call has the same result, however often it runs: what is there already stays.
"""

from contextlib import nullcontext

from kubectl_kudo.accounts.giving import Giving
from kubectl_kudo.commands.upgrade import read, upgrade_to
from kubectl_kudo.instances.all_instances import version_key
from kubectl_kudo.instances.replace_versions import (
    check_replaceable,
    run_again,
    run_children_again,
)
from kubectl_kudo.packages.install_checks import check_instance
from kubectl_kudo.packages.install_set import InstallSet, as_declared
from kubectl_kudo.packages.installation import Installation, described
from kubectl_kudo.packages.installed import find_installed
from kubectl_kudo.reading.next_commands import flags_of
from kubectl_kudo.reading.outcome import (
    outcome_of_present,
    present_run,
    triggered,
    triggered_plan,
)
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, say, talk
from kubectl_kudo.session.session import Session
from kudo.api import Instance, OperatorVersion
from kudo.api.names import PLAN_DEPLOY


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
    found = await find_installed(session, install_set, replace=args.replace_version)
    users = await check_replaceable(session, found.replaced, before)
    if found.replaced:
        _check_values(before, version, values)

    async def write() -> JsonObject:
        async with giving.applied() if giving else nullcontext():
            await run_children_again(session, before, users)
            return await _updated(session, before, version, values, run=bool(found.replaced))

    after = await Installation(session, install_set, found).run(write)
    assert after is not None, "the Instance is written"
    session.report.show_all(session.writes.objects)
    if args.wait and not session.report.dry:
        await _wait(session, before, after, args.wait_time)


def _check_values(before: JsonObject, version: OperatorVersion, values: dict[str, str]) -> None:
    """Check all values by the new content: a write of the Instance checks those that it changes."""
    stored = read(Instance, before).parameters
    kept = {name: value for name, value in stored.items() if version.parameter(name) is not None}
    check_instance(before["metadata"]["name"], version, {**kept, **as_declared(version, values)})


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
        metadata = before["metadata"]
        after = await session.writes.merge_patch(
            INSTANCES, session.namespace, metadata["name"], patch
        )
        session.report.done(f"{described(INSTANCES, after)} updated")
        plan = triggered_plan(before, after)
        session.report.foretell(plan)
        if run and plan and plan != PLAN_DEPLOY:
            talk(_deploy_hint(plan, after))
        return after
    if run:
        return await run_again(session, before)
    session.report.say(f"{described(INSTANCES, before)} unchanged")
    return before


def _deploy_hint(plan: str, instance: JsonObject) -> str:
    metadata = instance["metadata"]
    flags = flags_of(f"{metadata['namespace']}/{metadata['name']}")
    return (
        f"The changed values run plan {plan}. What only plan {PLAN_DEPLOY} applies stays as it is "
        f"until that runs: kubectl kudo plan trigger {flags} --name {PLAN_DEPLOY}"
    )


async def _wait(session: Session, before: JsonObject, after: JsonObject, limit: int) -> None:
    """Wait for the run that the call caused, else for the one in progress or the last one."""
    target = triggered(before, after)
    if target is not None:
        await wait_and_show(session, target, after, limit=limit)
    else:
        target = present_run(after)
        if target is None:
            return
        await wait_and_show(session, target, after, limit=limit, outcome_of=outcome_of_present)
    say(f"instance {target.key} ready")
