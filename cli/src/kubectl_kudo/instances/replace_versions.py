"""Checks which OperatorVersions may get other content, and runs the plans that apply it.

`install --upgrade --replace-version` does it. An OperatorVersion is replaced only if no Instance
uses it but the one that is installed and those that it owns, and only while these run no plan: a
run keeps the content that it started with.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import uuid4

from kubectl_kudo.instances.all_instances import all_instances, version_key
from kubectl_kudo.packages.installation import described
from kubectl_kudo.reading.children import names_below
from kubectl_kudo.reading.next_commands import flags_of
from kubectl_kudo.reading.runs import active, key_of
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kudo.api.names import PLAN_DEPLOY


@dataclass(frozen=True, slots=True)
class Users:
    """The Instances that use OperatorVersions of a namespace.

    Attributes:
        own: Those that may see their OperatorVersion replaced.
        others: The others, as `namespace/name`.
    """

    own: tuple[JsonObject, ...]
    others: tuple[str, ...]


async def check_replaceable(
    session: Session, versions: Collection[str], own: JsonObject | None
) -> tuple[JsonObject, ...]:
    """Return the Instances that use these OperatorVersions, after checking that they may change.

    Args:
        session: The connection.
        versions: Names of the OperatorVersions to replace.
        own: The Instance that is installed; None if there is none yet.

    Raises:
        CliError: another Instance uses one of them, or one of ours runs a plan.
    """
    if not versions:
        return ()
    users = await _users(session, versions, own)
    if users.others:
        raise CliError(
            f"operatorversion {session.namespace}/{', '.join(sorted(versions))} cannot be "
            f"replaced, because these instances use it: {', '.join(users.others)}; give the "
            "package another operatorVersion"
        )
    for instance in users.own:
        run = active(instance)
        if run is not None:
            key = key_of(instance)
            raise CliError(
                f"the version of instance {key} cannot be replaced while it runs plan {run.plan}; "
                f"wait until it has ended (kubectl kudo plan wait {flags_of(key)}), or cancel it "
                f"(kubectl kudo plan cancel {flags_of(key)})"
            )
    return users.own


async def _users(session: Session, versions: Collection[str], own: JsonObject | None) -> Users:
    mine: set[str] = set()
    if own is not None:
        below = await names_below(session, own)
        mine = {own["metadata"]["uid"]} | {one.uid for child in below for one in child.all()}
    using = [
        instance
        for instance in await all_instances(session)
        if version_key(instance) in {(session.namespace, name) for name in versions}
    ]
    return Users(
        tuple(one for one in using if one["metadata"]["uid"] in mine),
        tuple(key_of(one) for one in using if one["metadata"]["uid"] not in mine),
    )


async def run_children_again(
    session: Session, own: JsonObject, users: Sequence[JsonObject]
) -> None:
    """Run the plans of the children of an Instance whose OperatorVersions were replaced.

    Before the plan of the Instance itself, which waits for its children but finds nothing to
    change in them.

    Args:
        session: The connection.
        own: The Instance.
        users: The Instances whose OperatorVersions were replaced.
    """
    for child in users:
        if child["metadata"]["uid"] != own["metadata"]["uid"]:
            await run_again(session, child)


async def run_again(session: Session, instance: JsonObject) -> JsonObject:
    """Schedule the deploy plan, which applies all templates; return the Instance."""
    execution = {"planName": PLAN_DEPLOY, "uid": str(uuid4()), "status": None}
    metadata = instance["metadata"]
    after = await session.writes.merge_patch(
        INSTANCES,
        metadata["namespace"],
        metadata["name"],
        {"spec": {"planExecution": execution}},
    )
    session.report.done(f"{described(INSTANCES, after)} updated")
    session.report.foretell(PLAN_DEPLOY)
    return after
