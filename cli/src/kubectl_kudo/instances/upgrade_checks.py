"""Checks of `upgrade` before it changes anything, and its split into one or two updates.

Pure functions over the stored objects. They evaluate the rules of admission, so that no
OperatorVersion is created for an update that the webhook then denies.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_kudo.session.errors import CliError, ExitCode, listed
from kubectl_kudo.session.suggestions import note_similar
from kudo.admission.change import Change
from kudo.admission.rules import Moment, evaluate
from kudo.api import Instance, ObjectReference, OperatorVersion, PlanExecution
from kudo.api.problems import Problem
from kudo.plans.runs.upgrades import goes_up

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

    values: Mapping[str, str]
    plan: str
    later: Mapping[str, str]
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
    old, new = _shown(installed, desired), _shown(desired, installed)
    hint = "; go back to it with --allow-downgrade" if newer is False else ""
    raise CliError(
        f"upgraded version {new} is the same or smaller as current version {old} -> "
        f"not upgrading{hint}"
    )


def _shown(version: OperatorVersion, other: OperatorVersion) -> str:
    text = version.spec.version or "(none)"
    if version.spec.app_version == other.spec.app_version:
        return text
    return f"{text} (app version {version.spec.app_version or 'none'})"


def steps_of(
    instance: Instance,
    installed: OperatorVersion,
    desired: OperatorVersion,
    values: Mapping[str, str],
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
    first = {n: v for n, v in values.items() if _belongs_to_upgrade(n, installed, desired)}
    upgrade = _upgrade(instance, installed, desired, first)
    later = {name: value for name, value in values.items() if name not in first}
    update = _update(upgrade.new, desired, later)
    problems = evaluate(upgrade, Moment.SUBMITTED) or evaluate(update, Moment.SUBMITTED)
    if problems:
        raise _denied(instance, problems, values, desired)
    return Steps(first, upgrade.needed or "", later, update.needed or "")


def _belongs_to_upgrade(name: str, installed: OperatorVersion, desired: OperatorVersion) -> bool:
    before, after = installed.parameter(name), desired.parameter(name)
    if before is None:
        return True
    return bool(after and after.immutable and not before.immutable)


def _upgrade(
    instance: Instance,
    installed: OperatorVersion,
    desired: OperatorVersion,
    values: Mapping[str, str],
) -> Change:
    reference = ObjectReference(name=desired.metadata.name)
    spec = {"operator_version": reference, "parameters": {**instance.parameters, **values}}
    return Change(instance, _with(instance, spec), installed, desired)


def _update(upgraded: Instance, version: OperatorVersion, values: Mapping[str, str]) -> Change:
    """Return the change of the parameters after the upgrade has run."""
    idle = _with(upgraded, {"plan_execution": PlanExecution()})
    spec = {"parameters": {**idle.parameters, **values}}
    return Change(idle, _with(idle, spec), version, version)


def _with(instance: Instance, spec: Mapping[str, object]) -> Instance:
    return instance.model_copy(update={"spec": instance.spec.model_copy(update=spec)})


def _denied(
    instance: Instance,
    problems: tuple[Problem, ...],
    values: Mapping[str, str],
    desired: OperatorVersion,
) -> CliError:
    text = listed(f"instance {instance.key} cannot be upgraded:", problems)
    error = CliError(text, code=ExitCode.DENIED)
    note_similar(error, values, [parameter.name for parameter in desired.parameters])
    return error
