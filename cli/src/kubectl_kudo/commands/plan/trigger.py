"""`kubectl kudo plan trigger`: runs a plan of an Instance."""

from collections.abc import Mapping
from uuid import uuid4

from kubectl_kudo.reading.instance_state import suspension
from kubectl_kudo.reading.outcome import triggered
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import CHANGE_HELP, INSTANCE, WAITING, WRITING, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, UsageError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.names import note_similar
from kubectl_kudo.session.output import JsonObject, say, talk
from kubectl_kudo.session.session import Session, in_session
from kubectl_kudo.session.terminal import word
from kubeio.errors import ApiError, KubeError


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
        *WAITING,
        *WRITING,
    ),
    more="While a plan is running, another one cannot be triggered.\n\n" + CHANGE_HELP,
    examples=(
        ("Run the plan `backup`", "plan trigger --instance web --name backup"),
        ("Run it and wait for its end", "plan trigger --instance web --name backup --wait"),
    ),
)


_NO_RETRY: Mapping[str, str | None] = {"retryOf": None, "from": None}
"""A retry that a manifest keeps in `spec.planExecution` would make this run one as well."""


async def trigger(session: Session, args: Args) -> None:
    """Schedule the plan from its first step."""
    text = f"Triggered {word(args.name)} plan for {session.namespace}/{args.instance} instance"
    await schedule(session, args, args.name, text, _NO_RETRY)


async def schedule(
    session: Session, args: Args, plan: str, done: str, fields: Mapping[str, str | None]
) -> None:
    """Schedule a plan under a fresh uid, so that a running one starts again; wait if wanted.

    Args:
        session: The connection.
        args: The command line, for the Instance and `--wait`.
        plan: The plan.
        done: The result line.
        fields: Further fields of `spec.planExecution`; None removes one.
    """
    # A fresh uid makes it another run; a status of an earlier one would end it at once.
    execution = {"planName": plan, "uid": str(uuid4()), "status": None, **fields}
    patch = {"spec": {"planExecution": execution}}
    try:
        after = await session.writes.merge_patch(INSTANCES, session.namespace, args.instance, patch)
    except (ApiError, CliError) as error:
        # Read only now, so that a command that succeeds costs no more requests.
        plans = (await spec_or_nothing(session, args.instance)).get("plans") or {}
        note_similar(error, [plan], list(plans))
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


async def spec_or_nothing(session: Session, name: str) -> JsonObject:
    """Return the spec of the Instance's OperatorVersion; empty if it cannot be read."""
    try:
        instance = await session.instance(name)
        version = await session.version_of(instance) if instance else None
    except KubeError:
        return {}
    spec: JsonObject = (version or {}).get("spec") or {}
    return spec
