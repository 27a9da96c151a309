"""`kubectl kudo plan trigger`: runs a plan of an Instance."""

from collections.abc import Mapping
from uuid import uuid4

from kubectl_kudo.reading.instance_state import flags_of, suspension
from kubectl_kudo.reading.outcome import triggered
from kubectl_kudo.reading.runs import active, key_of
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import (
    CHANGE_HELP,
    INSTANCE,
    RUN_PARAMETERS,
    WAITING,
    WRITING,
    Args,
    Flag,
)
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, UsageError, denied
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.names import note_similar
from kubectl_kudo.session.output import JsonObject, say, talk
from kubectl_kudo.session.session import Session, in_session
from kubectl_kudo.session.terminal import word
from kubectl_kudo.session.values import given_values, values_of_run
from kubeio.errors import ApiError, KubeError
from kudo.api.setting import Setting


def run(args: Args) -> None:
    if not args.instance:
        raise UsageError("please choose the instance with '--instance=<instanceName>'")
    if not args.name:
        raise UsageError("please choose the plan name with '--name=<planName>'")
    in_session(args, lambda session: trigger(session, args))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(("--name",), "name of the plan", "plan"),
        *RUN_PARAMETERS,
        *WAITING,
        *WRITING,
    ),
    more="While a plan is running, another one cannot be triggered.\n\n"
    "With -p and -P the run gets parameters that its plan declares; `package list plans` shows "
    "them.\nThey are of this run alone and no secrets, and stand in `plan history`. `plan retry` "
    "uses\nthem again.\n\n" + CHANGE_HELP,
    examples=(
        ("Run the plan `backup`", "plan trigger --instance web --name backup"),
        ("Run it and wait for its end", "plan trigger --instance web --name backup --wait"),
        (
            "Give it parameters that the plan declares",
            "plan trigger --instance web --name backup -p name=monday",
        ),
    ),
)


_NO_RETRY: Mapping[str, str | None] = {"retryOf": None, "from": None}
"""A retry that a manifest keeps in `spec.planExecution` would make this run one as well."""


async def trigger(session: Session, args: Args) -> None:
    """Schedule the plan from its first step."""
    text = f"Triggered {word(args.name)} plan for {session.namespace}/{args.instance} instance"
    given = given_values(args)
    values = await _as_declared(session, args, given) if given else {}
    await schedule(session, args, args.name, text, _NO_RETRY, values)


async def _as_declared(
    session: Session, args: Args, given: Mapping[str, Setting]
) -> dict[str, str]:
    """Return parameters of a run as the plan stores them: booleans as `true` and `false`.

    Raises:
        CliError: the plan is running: its run would start again with those that it has.
        UsageError: one is no value.
    """
    instance = await session.existing_instance(args.instance)
    run = active(instance)
    if run is not None and run.plan == args.name:
        key = key_of(instance)
        text = f"plan {run.plan} is running and keeps the parameters that it was given"
        how = f"wait for it: kubectl kudo plan wait {flags_of(key)}"
        raise denied("PlanRunning", f"instance {key}: {text}; {how}")
    spec = await spec_or_nothing(session, args.instance)
    declared = ((spec.get("plans") or {}).get(args.name) or {}).get("parameters") or ()
    types = {str(each.get("name")): each.get("value-type") for each in declared}
    booleans = {name for name, value_type in types.items() if value_type == "boolean"}
    return values_of_run(booleans, given)


async def schedule(
    session: Session,
    args: Args,
    plan: str,
    done: str,
    fields: Mapping[str, str | None],
    parameters: Mapping[str, str] | None = None,
) -> None:
    """Schedule a plan under a fresh uid, so that a running one starts again; wait if wanted.

    Args:
        session: The connection.
        args: The command line, for the Instance and `--wait`.
        plan: The plan.
        done: The result line.
        fields: Further fields of `spec.planExecution`; None removes one.
        parameters: The parameters of the run.
    """
    try:
        after = await _sent(session, args.instance, plan, fields, parameters)
    except (ApiError, CliError) as error:
        # Read only now, so that a command that succeeds costs no more requests.
        plans = (await spec_or_nothing(session, args.instance)).get("plans") or {}
        note_similar(error, [plan], list(plans))
        declared = (plans.get(plan) or {}).get("parameters") or ()
        note_similar(error, parameters or (), [str(each.get("name")) for each in declared])
        raise
    session.report.done(done)
    if pause := suspension(after):
        talk(f"The instance is {pause}: the run waits until it is resumed.")
    session.report.show(session.writes.objects[-1])
    if args.wait and not session.report.dry:
        target = triggered(None, after)
        if target is None or target.plan != plan:
            raise CliError(f"plan {plan} was not scheduled; is it in progress already?")
        await wait_and_show(session, target, after, limit=args.wait_time)
        say(f"instance {target.key} ready")


async def _sent(
    session: Session,
    name: str,
    plan: str,
    fields: Mapping[str, str | None],
    parameters: Mapping[str, str] | None,
) -> JsonObject:
    """Send the run, and return the Instance after that."""
    # A fresh uid makes it another run; a status of an earlier one would end it at once.
    run = {"planName": plan, "uid": str(uuid4())}
    if parameters:
        # A merge patch would keep parameters of a run that has ended and is not cleared yet.
        kept = {field: value for field, value in fields.items() if value is not None}
        execution = {**run, **kept, "parameters": dict(parameters)}
        change = {"op": "add", "path": "/spec/planExecution", "value": execution}
        return await session.writes.json_patch(INSTANCES, session.namespace, name, [change])
    patch = {"spec": {"planExecution": {**run, "status": None, "parameters": None, **fields}}}
    return await session.writes.merge_patch(INSTANCES, session.namespace, name, patch)


async def spec_or_nothing(session: Session, name: str) -> JsonObject:
    """Return the spec of the Instance's OperatorVersion; empty if it cannot be read."""
    try:
        instance = await session.instance(name)
        version = await session.version_of(instance) if instance else None
    except KubeError:
        return {}
    spec: JsonObject = (version or {}).get("spec") or {}
    return spec
