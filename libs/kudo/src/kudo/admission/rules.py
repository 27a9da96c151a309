"""The admission rules: a flat list of small pure functions over one `Change`.

`RULES` says of each of them when it applies. The same list serves the mutating route, the
validating route, the reconciler's own check and the command line. Messages begin with what KUDO
0.19 says, since people search for it, and end with what to do. Codes like D14 are those of the
recorded decisions (docs/design/).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Flag, auto
from functools import cache
from itertools import groupby

from kudo.admission import field_rules, plan_rules, source_rules
from kudo.admission.change import Change, ChangeKind
from kudo.api.problems import Problem, first_problems

_Problems = Callable[[Change], Iterable[Problem]]


class Moment(Flag):
    """When rules are applied."""

    SUBMITTED = auto()
    """By the mutating route and the command line, to what a user sends."""
    FINAL = auto()
    """By the validating route, to what would be stored: mutation may have added a trigger."""
    SCHEDULED = auto()
    """By the reconciler, to the run that is about to begin."""
    STORED = auto()
    """By the reconciler, to what is stored, compared with what is in force."""
    ADMISSION = SUBMITTED | FINAL


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, and when it applies.

    Attributes:
        problems: Yields why a change is not allowed.
        on: The kinds of change that it applies to.
        at: The moments when it is applied.
        together: Whether one answer names its problems and those of its neighbours. Any other rule
            decides alone, since its problem explains the change as a whole.
        needs_version: Whether it looks at OperatorVersions. One that does not applies to every
            change of the spec, also of what no plan has to run for.
    """

    problems: _Problems
    on: ChangeKind = ChangeKind.ANY
    at: Moment = Moment.ADMISSION
    together: bool = False
    needs_version: bool = True


_ALSO_STORED = Moment.ADMISSION | Moment.STORED

RULES: tuple[Rule, ...] = (
    # Without a plan nothing would ever run, so nothing else needs to be told.
    Rule(plan_rules.a_new_instance_has_a_plan, on=ChangeKind.CREATE),
    # On fields: one answer names everything that is wrong.
    Rule(field_rules.requested_plan_exists, together=True, on=~ChangeKind.CREATE),
    Rule(field_rules.changed_parameters_are_declared, together=True, on=~ChangeKind.CREATE),
    Rule(
        field_rules.immutable_parameters_stay, together=True, on=~ChangeKind.CREATE, at=_ALSO_STORED
    ),
    Rule(field_rules.new_immutables_have_a_value, together=True, on=~ChangeKind.CREATE),
    Rule(field_rules.required_parameters_have_a_value, together=True, at=_ALSO_STORED),
    Rule(field_rules.values_are_valid, together=True, at=_ALSO_STORED),
    Rule(source_rules.parameters_are_set_once, together=True, at=_ALSO_STORED),
    Rule(source_rules.references_can_be_read, together=True, at=_ALSO_STORED),
    Rule(source_rules.secrets_are_not_in_plain_text, together=True, at=_ALSO_STORED),
    Rule(field_rules.triggers_are_clear, together=True, on=~ChangeKind.CREATE),
    Rule(field_rules.an_upgrade_keeps_the_operator, together=True, at=_ALSO_STORED),
    Rule(field_rules.retries_are_complete, together=True, on=~ChangeKind.CREATE),
    Rule(field_rules.run_parameters_name_a_plan, together=True, on=~ChangeKind.CREATE),
    Rule(field_rules.run_parameters_are_valid, together=True, at=_ALSO_STORED),
    Rule(field_rules.a_new_time_limit_is_readable, together=True, needs_version=False),
    # On plans: the first problem decides.
    Rule(plan_rules.nothing_changes_while_deleting, on=ChangeKind.DELETING),
    # The reconciler names it first: to wait for the plan in progress would not help.
    Rule(plan_rules.cleanup_is_not_manual, on=~ChangeKind.DELETING, at=Moment.SCHEDULED),
    Rule(plan_rules.one_plan_at_a_time, on=ChangeKind.CHANGE),
    Rule(
        plan_rules.a_running_plan_is_not_overridden,
        on=~ChangeKind.DELETING,
        at=Moment.ADMISSION | Moment.SCHEDULED,
    ),
    Rule(plan_rules.the_account_stays_while_a_plan_runs, on=ChangeKind.CHANGE, needs_version=False),
    Rule(plan_rules.an_upgrade_comes_alone, on=ChangeKind.UPGRADE, at=Moment.SUBMITTED),
    Rule(plan_rules.a_running_plan_stays_scheduled, on=ChangeKind.CHANGE),
    Rule(plan_rules.an_update_comes_alone, on=ChangeKind.UPDATE, at=Moment.SUBMITTED),
    Rule(plan_rules.cleanup_is_not_manual, on=ChangeKind.CHANGE),
    Rule(plan_rules.a_retry_comes_alone, on=ChangeKind.CHANGE),
    Rule(plan_rules.a_retry_continues_the_last_run, at=_ALSO_STORED),
    Rule(plan_rules.an_upgrade_has_a_plan, on=ChangeKind.UPGRADE),
    Rule(plan_rules.every_change_has_a_plan, on=ChangeKind.UPDATE),
    # On what mutation leaves.
    Rule(plan_rules.a_new_instance_retries_nothing, on=ChangeKind.CREATE, at=Moment.FINAL),
    Rule(plan_rules.a_repeated_retry_is_dropped, on=~ChangeKind.CREATE, at=Moment.FINAL),
    Rule(plan_rules.the_needed_run_is_scheduled, at=Moment.FINAL),
    Rule(plan_rules.the_canceller_is_the_user, on=~ChangeKind.CREATE, at=Moment.FINAL),
    Rule(plan_rules.the_requester_is_the_user, at=Moment.FINAL),
    Rule(plan_rules.a_running_plan_stays_the_retry_it_is, on=~ChangeKind.CREATE, at=Moment.FINAL),
    Rule(plan_rules.a_run_has_its_own_parameters, at=Moment.FINAL),
)
"""The rules, in the order in which they are applied."""


def evaluate(
    change: Change, moment: Moment, order: Callable[[Problem], int] | None = None
) -> tuple[Problem, ...]:
    """Return what forbids a change, the first 20 problems of many; empty if it is allowed.

    Args:
        change: The change.
        moment: When it is judged.
        order: The place of each of several problems; that of its rule if there is none.
    """
    for rules in _applying(change.kind, moment):
        if isinstance(rules, tuple):
            together = (problem for problems in rules for problem in problems(change))
            several = first_problems(sorted(together, key=order) if order else together)
        else:
            several = tuple(rules(change))
        if several:
            return several
    return ()


@cache
def _applying(kind: ChangeKind, moment: Moment) -> tuple[_Problems | tuple[_Problems, ...], ...]:
    """Return the rules of a kind and a moment: those that decide alone, and groups of others."""
    rules = [rule for rule in RULES if kind in rule.on and moment in rule.at]
    # Each rule that decides alone has a key of its own.
    groups = groupby(rules, key=lambda rule: None if rule.together else rule)
    return tuple(
        tuple(rule.problems for rule in group) if key is None else key.problems
        for key, group in groups
    )


def evaluate_without_version(change: Change) -> tuple[Problem, ...]:
    """Return what forbids a change for which no plan has to run, whatever the OperatorVersion."""
    rules = [rule for rule in RULES if not rule.needs_version and change.kind in rule.on]
    return first_problems(problem for rule in rules for problem in rule.problems(change))
