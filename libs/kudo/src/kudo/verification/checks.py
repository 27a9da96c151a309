"""All checks, in the order of KUDO 0.19."""

from collections.abc import Callable, Iterable
from typing import Final

from kudo.packages import Package
from kudo.verification import (
    namespaces,
    operator,
    parameters,
    pipes,
    plans,
    removed,
    rendered,
    tasks,
    templates,
)
from kudo.verification.finding import Finding

Check = Callable[[Package], Iterable[Finding]]

CHECKS: Final[tuple[Check, ...]] = (
    parameters.names_are_unique,
    parameters.names_can_be_typed,
    operator.versions_are_semantic,
    operator.the_name_can_be_used,
    tasks.tasks_can_be_built,
    tasks.task_names_are_unique,
    tasks.steps_name_defined_tasks,
    tasks.tasks_are_used,
    plans.triggers_name_defined_plans,
    plans.there_is_a_deploy_plan,
    plans.strategies_are_known,
    plans.names_in_plans_are_unique,
    templates.parameters_are_defined,
    templates.parameters_are_used,
    parameters.immutable_ones_get_a_value,
    parameters.enums_are_valid,
    parameters.defaults_are_valid,
    parameters.groups_of_parameters_are_valid,
    parameters.advanced_ones_need_no_value,
    parameters.groups_are_valid,
    templates.templates_can_be_parsed,
    templates.variables_are_known,
    templates.tasks_name_defined_templates,
    templates.templates_are_used,
    pipes.keys_are_unique,
    pipes.artifacts_can_be_named,
    rendered.templates_can_be_rendered,
    removed.versions_are_served,
    namespaces.only_the_manifest_is_a_namespace,
    namespaces.the_manifest_is_one_namespace,
)


def verify(package: Package) -> tuple[Finding, ...]:
    """Return everything that is wrong with a package; the same findings in the same order."""
    return tuple(finding for check in CHECKS for finding in check(package))
