"""`kubectl kudo update`: sets parameters of an Instance, which runs the plan that they trigger."""

import asyncio

from kubectl_kudo.commands.plan.trigger import spec_or_nothing
from kubectl_kudo.reading.instance_state import not_in_force, pending
from kubectl_kudo.reading.outcome import (
    Target,
    following,
    outcome_of_following,
    triggered,
    triggered_plan,
)
from kubectl_kudo.reading.runs import key_of
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import (
    CHANGE_HELP,
    INSTANCE,
    PARAMETERS,
    SERVICE_ACCOUNT,
    WAITING,
    WRITING,
    Args,
)
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.names import name_fault, note_similar
from kubectl_kudo.session.output import JsonObject, say, talk
from kubectl_kudo.session.session import Session, in_session
from kubectl_kudo.session.values import given_values
from kubeio.errors import ApiError
from kudo.parameters.sources import with_plain_booleans


def run(args: Args) -> None:
    if not args.instance:
        raise UsageError(
            "--instance flag has to be provided to indicate which instance you want to update"
        )
    fault = name_fault("service account", args.service_account) if args.service_account else ""
    if fault:
        raise UsageError(fault)
    values = given_values(args)
    if not values and not args.service_account:
        raise UsageError(
            "need to specify at least one parameter to override via -p otherwise there is nothing "
            "to update"
        )
    in_session(args, lambda session: update(session, args, values))


COMMAND = Command(
    run,
    flags=(INSTANCE, *PARAMETERS, SERVICE_ACCOUNT, *WAITING, *WRITING),
    more="Parameters that are not named keep their values. One without a trigger that is changed "
    "together\nwith one that has a trigger comes into force after that plan, with update, else "
    "deploy; --wait\nwaits for both. --service-account alone runs no plan: the next plan acts as "
    "that account.\nIt cannot be changed while a plan runs.\n\n" + CHANGE_HELP,
    examples=(
        (
            "Change one parameter and wait for the plan",
            "update --instance web -p replicas=3 --wait",
        ),
        ("Take the values from a file", "update --instance web -P values.yaml"),
        (
            "Have plans act as an account from now on",
            "update --instance web --service-account web",
        ),
        ("Which plan would run?", "update --instance web -p replicas=3 --dry-run=client"),
    ),
)


async def update(session: Session, args: Args, values: dict[str, str]) -> None:
    """Set the values and, if wanted, wait for the runs that this triggers."""
    before = await session.existing_instance(args.instance)
    declared = values
    if with_plain_booleans(values.keys(), values) != values:
        # Some value looks like a boolean; most updates need not know the types.
        version = await session.version_of(before) or {"spec": {}}
        parameters = version["spec"].get("parameters") or []
        booleans = {each["name"] for each in parameters if each.get("value-type") == "boolean"}
        declared = with_plain_booleans(booleans, values)
    patch: JsonObject = {"spec": {"parameters": declared} if declared else {}}
    account = getattr(args, "service_account", "")  # `upgrade` has no such flag
    if account:
        patch["spec"]["serviceAccountName"] = account
    try:
        after = await session.writes.merge_patch(INSTANCES, session.namespace, args.instance, patch)
    except (ApiError, CliError) as error:
        # Read only now, so that a command that succeeds costs no more requests.
        spec = await spec_or_nothing(session, args.instance)
        declared_names = [str(each.get("name")) for each in spec.get("parameters") or ()]
        note_similar(error, values, declared_names)
        raise
    session.report.done(f"Instance {args.instance} was updated.")
    session.report.foretell(triggered_plan(before, after))
    session.report.show(session.writes.objects[-1])
    if session.report.dry:
        return
    if args.wait:
        await _wait(session, args, before, after)
    elif triggered(before, after) is None and pending(after):
        talk(f"Not in force: {not_in_force(after)}.")


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
