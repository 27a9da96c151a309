"""`kubectl kudo describe`: shows one instance with all that belongs to it."""

import asyncio
from datetime import UTC, datetime

from kubectl_kudo.reading.description import Description
from kubectl_kudo.reading.events import recent_events
from kubectl_kudo.reading.owned import members_below, objects_of
from kubectl_kudo.reading.parameter_sources import source_states
from kubectl_kudo.screens.description import blocks_of
from kubectl_kudo.session.arguments import INSTANCE, OUTPUT, Args
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.kinds import BY_WORD, INSTANCES
from kubectl_kudo.session.names import name_fault
from kubectl_kudo.session.output import check_format, one, show
from kubectl_kudo.session.session import Session, in_session


def run(args: Args) -> None:
    if bool(args.instance) == bool(args.arguments) or len(args.arguments) not in {0, 2}:
        raise UsageError(
            "expecting exactly two arguments - instance and its name, such as: describe instance "
            "kafka"
        )
    kind, name = args.arguments or ("instance", args.instance)
    if BY_WORD.get(kind) != INSTANCES:
        raise UsageError(f'only an instance can be described, and not "{kind}": use get')
    check_format(args.output)
    # Other commands name Instances by a flag, which is checked for all of them.
    fault = name_fault("instance", name)
    if fault:
        raise UsageError(fault)
    in_session(args, lambda session: _describe(session, name, args.output))


async def _describe(session: Session, name: str, output: str) -> None:
    """Print an Instance with its parameters, plans, children, objects and events.

    Raises:
        CliError: there is none of that name.
    """
    instance = await session.existing_instance(name)
    version, children, owned, sources = await asyncio.gather(
        session.version_of(instance),
        members_below(session, instance),
        objects_of(session, instance),
        source_states(session, instance),
    )
    uids = {str(obj.metadata.get("uid")) for obj in owned.objects}
    events, all_read = await recent_events(session, instance, uids)
    unlisted = owned.unlisted if all_read else ("events", *owned.unlisted)
    description = Description(
        instance, version, children, owned.objects, tuple(events), unlisted, sources
    )
    if output:
        print(one(description.to_data(), output), end="")
    else:
        show(*blocks_of(description, datetime.now(UTC)))


COMMAND = Command(
    run,
    "instance <name>",
    (INSTANCE, OUTPUT),
    more="`describe --instance <name>` is the same. Of each parameter it tells whether the value\n"
    "is set or the default. A value whose name sounds like a secret is hidden; -o json and -o\n"
    "yaml print it. A Secret or ConfigMap of parameters that has changed since the last run is\n"
    "named, with your rights to read it. Objects are found by their labels and owners; kinds\n"
    "that could not be listed are named at the end.",
    examples=(
        ("Everything about an instance", "describe instance my-kafka"),
        ("As data", "describe instance my-kafka -o json"),
    ),
)
