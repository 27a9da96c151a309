"""Checks before an Instance gets another OperatorVersion, or its OperatorVersion other content.

`install --upgrade --replace-version` replaces an OperatorVersion only if no Instance uses it but
the one that is installed and those that it owns, and only while these run no plan: a run keeps the
content that it started with.

`upgrade` evaluates the rules of admission first, so that no OperatorVersion is created for an
update that the webhook then denies.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from kubectl_kudo.instances.unused import all_instances
from kubectl_kudo.packages.installation import described
from kubectl_kudo.reading.changes import version_text
from kubectl_kudo.reading.instance_state import flags_of, version_key
from kubectl_kudo.reading.owned import names_below
from kubectl_kudo.reading.runs import active, key_of
from kubectl_kudo.session.errors import CliError, ExitCode, listed
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.names import note_similar
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kudo.admission.change import Change
from kudo.admission.rules import Moment, evaluate
from kudo.api import (
    Instance,
    ObjectReference,
    OperatorVersion,
    ParameterSource,
    PlanExecution,
    Reference,
)
from kudo.api.names import PLAN_DEPLOY
from kudo.api.problems import Problem
from kudo.parameters.settings import Settings, plain_values
from kudo.plans.runs.upgrades import goes_up


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
    uids: set[str] = set()
    if own is not None:
        below = await names_below(session, own)
        uids = {own["metadata"]["uid"]} | {name.uid for child in below for name in child.all()}
    keys = {(session.namespace, name) for name in versions}
    users = [obj for obj in await all_instances(session) if version_key(obj) in keys]
    others = [key_of(obj) for obj in users if obj["metadata"]["uid"] not in uids]
    if others:
        raise CliError(
            f"operatorversion {session.namespace}/{', '.join(sorted(versions))} cannot be "
            f"replaced, because these instances use it: {', '.join(others)}; give the "
            "package another operatorVersion"
        )
    for instance in users:
        run = active(instance)
        if run is not None:
            key = key_of(instance)
            raise CliError(
                f"the version of instance {key} cannot be replaced while it runs plan {run.plan}; "
                f"wait until it has ended (kubectl kudo plan wait {flags_of(key)}), or cancel it "
                f"(kubectl kudo plan cancel {flags_of(key)})"
            )
    return tuple(users)


async def run_children_again(
    session: Session, own: JsonObject, users: Sequence[JsonObject]
) -> None:
    """Run the plans of the children of an Instance whose OperatorVersions were replaced.

    Args:
        session: The connection.
        own: The Instance.
        users: The Instances whose OperatorVersions were replaced.
    """
    # Before the plan of the Instance itself, which waits for its children but finds nothing to
    # change in them.
    for child in users:
        if child["metadata"]["uid"] != own["metadata"]["uid"]:
            await run_again(session, child)
            session.report.foretell(PLAN_DEPLOY)


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
    return after


_COMES_LATER = "PlanBesideChange"


@dataclass(frozen=True, slots=True)
class Steps:
    """An upgrade, as one or two updates of the Instance.

    Attributes:
        values: Parameters that are set together with the new version.
        plan: Plan that the new version runs.
        later: Parameters that can be set only after that.
        later_plan: Plan that those run.
    """

    values: Settings
    plan: str
    later: Settings
    later_plan: str


def check_newer(
    key: str,
    installed: OperatorVersion,
    desired: OperatorVersion,
    *,
    allow_downgrade: bool = False,
) -> None:
    """Check that the package holds a newer version of the operator that the Instance runs.

    The same operatorVersion with a newer appVersion is newer, too. Through the API an older version
    is admitted with a warning; here it has to be asked for.

    Args:
        key: `namespace/name` of the Instance.
        installed: The version that it runs.
        desired: The version of the package.
        allow_downgrade: Whether it may be older.

    Raises:
        CliError: it is another operator, or no newer version.
    """
    before, after = installed.operator_name, desired.operator_name
    if before and before != after:
        raise CliError(
            f"instance {key} runs operator '{before}' and cannot be upgraded to operator "
            f"'{after}'; install that as a new instance"
        )
    newer = goes_up(installed, desired)
    if newer or (newer is False and allow_downgrade):
        return
    wires = installed.to_wire(), desired.to_wire()
    old, new = version_text(*wires), version_text(*reversed(wires))
    hint = "; go back to it with --allow-downgrade" if newer is False else ""
    raise CliError(
        f"upgraded version {new} is the same or smaller as current version {old} -> "
        f"not upgrading{hint}"
    )


def steps_of(
    instance: Instance,
    installed: OperatorVersion,
    desired: OperatorVersion,
    values: Settings,
) -> Steps:
    """Return how the upgrade can be done: in one update or, if the rules require it, in two.

    Of two, the first one sets the parameters that only the new version declares, and those that
    become immutable with it.

    Raises:
        CliError: it would be denied; the text lists all problems.
    """
    whole = _upgrade(instance, installed, desired, values)
    problems = evaluate(whole, Moment.SUBMITTED)
    if not problems:
        return Steps(values, whole.needed or "", {}, "")
    if any(problem.reason != _COMES_LATER for problem in problems):
        raise _denied(instance, problems, values, desired)

    def belongs_to_upgrade(name: str) -> bool:
        before, after = installed.parameter(name), desired.parameter(name)
        return before is None or bool(after and after.immutable and not before.immutable)

    first = {name: value for name, value in values.items() if belongs_to_upgrade(name)}
    upgrade = _upgrade(instance, installed, desired, first)
    later = {name: value for name, value in values.items() if name not in first}
    # The change of the parameters after the upgrade has run.
    idle = _with(upgrade.new, {"plan_execution": PlanExecution()})
    set_later = _with(idle, _set(idle, later))
    update = Change(idle, set_later, desired, desired)
    problems = evaluate(upgrade, Moment.SUBMITTED) or evaluate(update, Moment.SUBMITTED)
    if problems:
        raise _denied(instance, problems, values, desired)
    return Steps(first, upgrade.needed or "", later, update.needed or "")


def _upgrade(
    instance: Instance,
    installed: OperatorVersion,
    desired: OperatorVersion,
    values: Settings,
) -> Change:
    reference = ObjectReference(name=desired.metadata.name)
    spec = {"operator_version": reference, **_set(instance, values)}
    return Change(instance, _with(instance, spec), installed, desired)


def _set(instance: Instance, settings: Settings) -> Mapping[str, object]:
    """Return the fields of a spec with what it sets for parameters, and these settings beside."""
    together = {**instance.settings, **settings}
    references = [(n, each) for n, each in together.items() if isinstance(each, Reference)]
    sources = tuple(ParameterSource.of(name, each) for name, each in references)
    return {"parameters": plain_values(together), "parameters_from": sources or None}


def _with(instance: Instance, spec: Mapping[str, object]) -> Instance:
    return instance.model_copy(update={"spec": instance.spec.model_copy(update=spec)})


def _denied(
    instance: Instance,
    problems: tuple[Problem, ...],
    values: Settings,
    desired: OperatorVersion,
) -> CliError:
    text = listed(f"instance {instance.key} cannot be upgraded:", problems)
    error = CliError(text, code=ExitCode.DENIED)
    note_similar(error, values, [parameter.name for parameter in desired.parameters])
    return error
