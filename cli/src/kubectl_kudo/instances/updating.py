"""Sets parameters of an Instance, and waits for the plans that bring them into force."""

import asyncio
from collections.abc import Sequence

from kubectl_kudo.instances.answers import nothing_changed, print_changes
from kubectl_kudo.instances.parameters import set_parameters
from kubectl_kudo.reading.changes import changed_values, changes
from kubectl_kudo.reading.instance_state import not_in_force, pending
from kubectl_kudo.reading.outcome import (
    Target,
    following,
    outcome_of_following,
    triggered,
)
from kubectl_kudo.reading.runs import key_of
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import Args
from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.names import note_similar
from kubectl_kudo.session.output import JsonObject, say, talk
from kubectl_kudo.session.session import Session
from kubeio.errors import ApiError, Forbidden
from kudo.api.setting import Setting
from kudo.parameters.settings import Settings
from kudo.parameters.sources import with_plain_booleans


async def update(session: Session, args: Args, values: Settings) -> None:
    """Set the values and, if wanted, wait for the runs that this triggers."""
    before = await session.existing_instance(args.instance)
    version = await _readable_version(session, before)
    declared = as_declared(version, values)
    account = getattr(args, "service_account", "")  # `upgrade` has no such flag
    account = "" if account == before["spec"].get("serviceAccountName") else account
    if changed_values(before, declared) or account:
        after = await _send(session, before, version, declared, account)
        await finish(session, args, before, after, version)
        return
    nothing_changed(session.report, before, "has these values already")
    session.report.show(before)
    await _wait_or_tell(session, args, before, before)


async def finish(
    session: Session,
    args: Args,
    before: JsonObject,
    after: JsonObject,
    version: JsonObject | None,
) -> None:
    """Print what an update has changed and, if wanted, wait for the runs that it triggers.

    Args:
        session: The connection.
        args: The command line.
        before: The Instance before the write.
        after: The Instance that the write returned.
        version: Its OperatorVersion; None if it cannot be read.
    """
    session.report.done(f"Instance {args.instance} was updated.")
    lines = changes(before, after, version, version)
    print_changes(session.report, before, after, lines, waits=args.wait)
    session.report.show(session.writes.objects[-1])
    await _wait_or_tell(session, args, before, after)


async def _wait_or_tell(
    session: Session, args: Args, before: JsonObject, after: JsonObject
) -> None:
    if session.report.dry:
        return
    if args.wait:
        await _wait(session, args, before, after)
    elif triggered(before, after) is None and pending(after):
        talk(f"Not in force: {not_in_force(after)}.")


async def _readable_version(session: Session, instance: JsonObject) -> JsonObject | None:
    """Return the OperatorVersion of an Instance; None if there is none or it must not be read."""
    try:
        return await session.version_of(instance)
    except Forbidden:
        return None


def as_declared(version: JsonObject | None, values: Settings) -> dict[str, Setting]:
    """Return the values as the version stores them: those of booleans as `true` and `false`."""
    types = {str(each.get("name")): each.get("value-type") for each in _parameters(version)}
    booleans = {name for name, value_type in types.items() if value_type == "boolean"}
    return with_plain_booleans(booleans, values)


def _parameters(version: JsonObject | None) -> Sequence[JsonObject]:
    return ((version or {}).get("spec") or {}).get("parameters") or ()


async def _send(
    session: Session,
    before: JsonObject,
    version: JsonObject | None,
    values: Settings,
    account: str,
) -> JsonObject:
    """Send the values and the account, and return the Instance."""
    spec: JsonObject = {"serviceAccountName": account} if account else {}
    try:
        return await set_parameters(session, before, values, spec)
    except (ApiError, CliError) as error:
        note_similar(error, values, [str(each.get("name")) for each in _parameters(version)])
        raise


async def _wait(session: Session, args: Args, before: JsonObject, after: JsonObject) -> None:
    target = triggered(before, after)
    if target is None and not pending(after):
        talk("The values were set already: no plan was triggered, there is nothing to wait for.")
        return
    # One limit for all runs that are waited for.
    ends = asyncio.get_running_loop().time() + args.wait_time
    instance: JsonObject | None = after
    if target is not None:
        instance = await wait_and_show(session, target, after, limit=args.wait_time)
    while instance is not None and (target := _next(instance)) is not None:
        # Zero would mean no limit.
        left = max(1, round(ends - asyncio.get_running_loop().time())) if args.wait_time else 0
        instance = await wait_and_show(
            session, target, instance, limit=left, outcome_of=outcome_of_following
        )
    say(f"instance {key_of(after)} ready")


def _next(instance: JsonObject) -> Target | None:
    """Return the run that brings the rest of the values into force; None if all are.

    Raises:
        CliError: nothing will run for them by itself.
    """
    target = following(instance)
    if target is not None or not pending(instance):
        return target
    raise CliError(
        f"instance {key_of(instance)}: not in force: {not_in_force(instance)}",
        code=ExitCode.PLAN_FAILED,
    )
