"""Creates an Instance, after checking that there is none of its name, and waits for its plan."""

from collections.abc import Sequence

from kubectl_kudo.packages.installation import described
from kubectl_kudo.reading.next_commands import removal
from kubectl_kudo.reading.outcome import triggered, triggered_plan
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.errors import CliError, describe
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, say
from kubectl_kudo.session.session import Session
from kubeio.errors import AlreadyExists, ApiError


async def check_absent(session: Session, name: str) -> None:
    """Check that there is no Instance of a name.

    Raises:
        CliError: there is one.
    """
    if await session.instance(name) is not None:
        raise _already_there(name, session.namespace)


async def create_instance(session: Session, instance: JsonObject) -> JsonObject:
    """Create an Instance, tell it and return it.

    Raises:
        CliError: there is one of that name, or the API server denies it.
    """
    try:
        made = await session.writes.create(INSTANCES, instance)
    except AlreadyExists:
        raise _already_there(instance["metadata"]["name"], session.namespace) from None
    except ApiError as error:
        raise CliError(_not_created(instance, error)) from error
    session.report.done(f"{described(INSTANCES, made)} created")
    session.report.foretell(triggered_plan(None, made))
    return made


def _not_created(instance: JsonObject, error: ApiError) -> str:
    text = describe(error) or str(error)
    # A denial of the webhook begins like this already.
    told = text.startswith("failed to create an Instance ")
    return text if told else f"failed to create {described(INSTANCES, instance)}: {text}"


def _already_there(name: str, namespace: str) -> CliError:
    return CliError(
        f"cannot install instance '{name}' because an instance of that name already exists in "
        f"namespace {namespace}; change its parameters with `kubectl kudo update` and its version "
        "with `kubectl kudo upgrade`, or either with `kubectl kudo install --upgrade`"
    )


async def wait_until_deployed(
    session: Session, instance: JsonObject, limit: int, *, operators: Sequence[str] = ()
) -> None:
    """Wait for the plan that the creation started, at most `limit` seconds.

    Args:
        session: The connection.
        instance: The Instance as it was created.
        limit: Seconds to wait; 0 for no limit.
        operators: What this call created before it, as result lines name objects.

    Raises:
        CliError: the plan fails, or does not end in time; the text names what was created, and the
            commands that remove it.
    """
    target = triggered(None, instance)
    if target is None:
        return
    try:
        await wait_and_show(session, target, instance, limit=limit)
    except CliError as error:
        names = ", ".join([*operators, described(INSTANCES, instance)])
        commands = removal(target.key, operator=bool(operators))
        error.add_note(f"\nCreated: {names}. To remove it:\n{commands}")
        raise
    say(f"instance {target.key} ready")
