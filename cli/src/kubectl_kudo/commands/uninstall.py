"""`kubectl kudo uninstall`: deletes an Instance; the API server deletes what it owns."""

import asyncio
import time

from kubectl_kudo.accounts.actors import cluster_role_name, role_name
from kubectl_kudo.instances.unused import uninstall_unused
from kubectl_kudo.reading.instance_state import flags_of, is_suspended
from kubectl_kudo.reading.inventory import (
    Condition,
    identity_of,
    read_live,
    recorded,
    why_left,
)
from kubectl_kudo.reading.outcome import Target, outcome_of_removal
from kubectl_kudo.reading.owned import names_below
from kubectl_kudo.screens.waiting import wait_and_show
from kubectl_kudo.session.arguments import DRY_RUN, INSTANCE, WAITING, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, talk, warn
from kubectl_kudo.session.session import Session, in_session
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import ApiError, KubeError, NotFound
from kubeio.resource import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS, Resource
from kudo.api import names
from kudo.api.identity import InstanceIdentity
from kudo.api.names import API_VERSION, FINALIZER_CLEANUP, PLAN_CLEANUP
from kudo.objects.inventory.record import Place, Record
from kudo.objects.sharing import goes_with_instance, is_listed, lists_all, sharers


def run(args: Args) -> None:
    if args.all_unused:
        if args.instance or args.wait:
            raise UsageError("--all-unused cannot be used with --instance or --wait")
        uninstall_unused(args)
        return
    if not args.instance:
        raise UsageError('required flag(s) "instance" not set')
    in_session(args, lambda session: uninstall(session, args))


COMMAND = Command(
    run,
    "[instance] | --all-unused",
    (
        INSTANCE,
        *WAITING,
        Flag(
            ("--all-unused",),
            "delete the operators and operatorversions that no instance uses instead",
            default=False,
        ),
        Flag(("--yes",), "with --all-unused: do not ask", default=False),
        DRY_RUN,
    ),
    more="Instances that its plans created (KudoOperator tasks) are deleted with it; --wait\n"
    "waits for them, too. The operator and its versions stay, for other instances. Deleting\n"
    "ends the pause of an instance that is suspended: its cleanup plan runs.\n"
    "\n"
    "--all-unused lists the operators and operatorversions of the namespace that no\n"
    "instance uses, those of children included, and deletes them after confirmation. What a\n"
    "used version needs for its KudoOperator tasks stays.\n"
    "\n"
    "The account of an instance and its rights stay, too; the command that deletes them is\n"
    "printed.",
    examples=(
        ("Delete an instance and wait until it is gone", "uninstall --instance web --wait"),
        ("Which operators does nobody use?", "uninstall --all-unused --dry-run=client"),
        ("Delete them without a question", "uninstall --all-unused --yes"),
    ),
)


async def uninstall(session: Session, args: Args) -> None:
    """Delete the Instance that is there now, and no other one of that name."""
    instance = await session.existing_instance(args.instance)
    left = await left_behind(session, instance)
    # Before the deletion, which may delete the children and the record with the Instance.
    children = [name for child in await names_below(session, instance) for name in child.all()]
    account = await account_left_behind(session, instance)
    has_cleanup = FINALIZER_CLEANUP in (instance["metadata"].get("finalizers") or [])
    if is_suspended(instance):
        text = f"instance {args.instance} is suspended: deleting it ends the pause"
        talk(f"{text}, and plan {PLAN_CLEANUP} runs" if has_cleanup else text)
    try:
        # The API server returns the Instance if finalizers keep it for now.
        held = await session.writes.delete(INSTANCES, instance) is not None
    except NotFound:  # another client deleted it meanwhile
        held = False
    if held and not (args.wait or session.report.dry):
        first = f"; plan {PLAN_CLEANUP} runs first" if has_cleanup else ""
        session.report.say(f"instance.{API_VERSION}/{args.instance} is being deleted{first}")
        session.report.say("")
        flags = flags_of(f"{session.namespace}/{args.instance}")
        talk(f"Wait for it: kubectl kudo uninstall {flags} --wait")
    elif not held or session.report.dry:
        _say_deleted(session, args.instance)
    if session.report.dry and has_cleanup:
        session.report.say(f"plan {PLAN_CLEANUP} would run first")
    if children:
        listed = ", ".join(child.name for child in children)
        talk(f"these instances are deleted with it: {listed}")
    if account:
        talk(account)
    for warning in left:
        warn(warning)
    if args.wait and not session.report.dry:
        end = time.monotonic() + args.wait_time
        await _until_deleted(session, instance, args.wait_time)
        if held:
            _say_deleted(session, args.instance)
        for child in children:
            existing = await session.instance(child.name)
            if existing is not None and existing["metadata"]["uid"] == child.uid:
                # Zero would mean no limit.
                rest = max(1, int(end - time.monotonic())) if args.wait_time else 0
                await _until_deleted(session, existing, rest)
            session.report.say(f"instance.{API_VERSION}/{child.name} deleted")


def _say_deleted(session: Session, name: str) -> None:
    session.report.done(f"instance.{API_VERSION}/{name} deleted")
    session.report.say("")


async def _until_deleted(session: Session, instance: JsonObject, limit: int) -> None:
    metadata = instance["metadata"]
    target = Target(metadata["uid"], f"{session.namespace}/{metadata['name']}")
    await wait_and_show(session, target, instance, limit=limit, outcome_of=outcome_of_removal)


_SELECTOR = f"{names.LABEL_HERITAGE}={names.HERITAGE}"


async def left_behind(session: Session, instance: JsonObject) -> list[str]:
    """Return warnings that name what stays when an Instance is deleted; none if nothing does.

    A complete record names the objects: each is then read by name. Without one, cluster-scoped
    objects are looked for in the lists of all kinds; those of the namespace are named as far as
    they are on record. Whatever cannot be read, this never fails: it is a warning.
    """
    owner = identity_of(instance)
    try:
        record = (await recorded(session, instance)).record or Record()
        may_stay = [e for e in record if e.cluster_scoped or e.retained or e.adopted]
        listed: list[str] = []
        if not record.complete:
            listed = await _cluster_scoped(session.client, owner, record)
            may_stay = [entry for entry in may_stay if not entry.cluster_scoped]
        objects = await read_live(session.client, may_stay, health=False)
    except KubeError:
        return []
    own: list[str] = []
    unknown: list[str] = []
    for live in objects:
        place = live.entry.place
        text, why = f"{place.kind} {place.name}", why_left(live, owner)
        if live.condition is Condition.UNKNOWN and not why:
            unknown.append(text)
        elif why:
            (listed if live.entry.cluster_scoped else own).append(f"{text} ({why})")
    texts_by_heading = {
        "these cluster-scoped objects stay in the cluster": listed,
        f"these objects stay in namespace {owner.namespace}": own,
        "you may not read these objects, so whether they stay is not known": unknown,
    }
    return [
        f"{heading}: {', '.join(sorted(texts))}"
        for heading, texts in texts_by_heading.items()
        if texts
    ]


async def _cluster_scoped(client: Client, owner: InstanceIdentity, record: Record) -> list[str]:
    """Return the cluster-scoped objects that stay, as `Kind name`.

    Kinds that the user may not list are left out.
    """

    async def of_kind(kind: Resource) -> list[str]:
        try:
            listing = await client.list(kind, label_selector=_SELECTOR, metadata_only=True)
        except KubeError:
            return []
        staying = []
        for obj in listing.items:
            metadata = obj["metadata"]
            place = Place(kind.group, kind.kind, "", metadata["name"])
            # An annotation that is full lists not all of the Instances that share the object.
            is_its = is_listed(metadata, owner) or record.get(place) is not None
            has_others = len(sharers(metadata)) > 1 or not lists_all(metadata)
            goes = not has_others and goes_with_instance(kind.group, kind.kind, metadata)
            if is_its and not goes:
                staying.append(f"{kind.kind} {metadata['name']}")
        return staying

    # What cannot be created was never applied; ComponentStatus is such a kind, and listing it
    # makes the API server warn of it.
    kinds = await Discovery(client).cluster_scoped("list", "create")
    return [text for texts in await asyncio.gather(*map(of_kind, kinds)) for text in texts]


async def account_left_behind(session: Session, instance: JsonObject) -> str:
    """Return a text with the command that deletes the rights; empty if there are none."""
    account = (instance.get("spec") or {}).get("serviceAccountName")
    if not account:
        return ""
    name, namespace = instance["metadata"]["name"], instance["metadata"]["namespace"]
    role, cluster_role = role_name(name), cluster_role_name(namespace, name)
    objects, commands = [], []
    if await _exists(session, ROLE_BINDINGS, role, namespace):
        objects.append(f"role and rolebinding {role}")
        commands.append(f"kubectl delete role,rolebinding {role} -n {namespace}")
    if await _exists(session, CLUSTER_ROLE_BINDINGS, cluster_role, None):
        objects.append(f"clusterrole and clusterrolebinding {cluster_role}")
        commands.append(f"kubectl delete clusterrole,clusterrolebinding {cluster_role}")
    if not objects:
        return ""
    # The cleanup plan still acts as the account, so its rights are not deleted now.
    return (
        f"{', '.join(objects)} of account {account} stay. Once the instance is gone: "
        f"{'; '.join(commands)}; also serviceaccount {account}, if nothing else uses it"
    )


async def _exists(session: Session, kind: Resource, name: str, namespace: str | None) -> bool:
    try:
        await session.client.get(kind, name, namespace=namespace)
    except (ApiError, ValueError):  # there is none, or the user may not read it
        return False
    return True
