"""All checks, first those of KUDO 0.19 in its order."""

from collections.abc import Callable, Iterable, Set
from dataclasses import replace
from typing import Final

from kudo.api.task_kinds.job import is_script
from kudo.packages.files import OPERATOR_FILE
from kudo.packages.model import Package
from kudo.packages.reader import is_template, template_name
from kudo.packages.source import source_of
from kudo.verification import (
    fields,
    limits,
    operator,
    outputs,
    parameters,
    run_parameters,
    secrets,
    storage,
    templates,
)
from kudo.verification.finding import Finding
from kudo.verification.operator import steps_of
from kudo.verification.rendered import jobs, kinds, objects, rendering, task_texts
from kudo.verification.rendered import secrets as rendered_secrets
from kudo.verification.rendered.rendering import Rendering

Check = Callable[[Package], Iterable[Finding]]
RenderedCheck = Callable[[Rendering], Iterable[Finding]]

CHECKS: Final[tuple[Check, ...]] = (
    fields.documents_are_single,
    fields.keys_are_unique,
    fields.fields_are_known,
    fields.texts_keep_their_spelling,
    fields.defaults_keep_their_spelling,
    parameters.names_are_unique,
    parameters.names_can_be_typed,
    parameters.types_are_known,
    operator.versions_are_semantic,
    operator.the_extended_language_is_declared,
    operator.fragments_are_included,
    operator.expressions_can_be_evaluated,
    operator.the_name_can_be_used,
    operator.the_version_can_be_named,
    storage.parts_are_within_bounds,
    storage.the_version_fits_into_etcd,
    operator.tasks_can_be_built,
    operator.children_can_be_named,
    operator.task_names_are_unique,
    operator.steps_name_defined_tasks,
    operator.steps_have_tasks,
    operator.tasks_are_used,
    operator.triggers_name_defined_plans,
    operator.there_is_a_deploy_plan,
    operator.strategies_are_known,
    operator.names_in_plans_are_unique,
    limits.limits_are_durations,
    limits.limits_can_pass,
    limits.limits_are_used,
    templates.parameters_are_defined,
    templates.parameters_are_used,
    outputs.outputs_are_declared,
    outputs.outputs_are_known_when_they_are_used,
    run_parameters.run_parameters_are_valid,
    run_parameters.plans_that_start_by_themselves_need_nothing,
    run_parameters.run_parameters_are_declared,
    run_parameters.run_parameters_are_used,
    templates.toggles_are_booleans,
    parameters.immutable_ones_get_a_value,
    parameters.bounds_can_hold,
    parameters.enums_are_valid,
    parameters.defaults_are_valid,
    secrets.secret_parameters_are_declared_as_such,
    secrets.secrets_are_not_shown,
    parameters.groups_of_parameters_are_valid,
    parameters.advanced_ones_need_no_value,
    parameters.groups_are_valid,
    templates.template_files_are_named_as_such,
    templates.template_names_are_unique,
    templates.templates_can_be_parsed,
    templates.variables_are_known,
    templates.conditions_depend_on_values,
    templates.tasks_name_defined_templates,
    templates.templates_are_used,
    templates.scripts_are_used,
    operator.keys_are_unique,
    operator.artifacts_can_be_named,
)
"""Checks of what the package declares."""

RENDERED_CHECKS: Final[tuple[RenderedCheck, ...]] = (
    rendering.templates_can_be_rendered,
    task_texts.checks_name_objects,
    rendering.documents_are_single,
    kinds.versions_are_served,
    kinds.only_the_manifest_is_a_namespace,
    kinds.the_manifest_is_one_namespace,
    objects.templates_are_not_empty,
    objects.names_can_be_used,
    objects.namespaces_are_not_set,
    objects.labels_and_annotations_of_pods_are_texts,
    objects.deletion_policies_are_known,
    objects.apply_policies_are_known,
    objects.termination_messages_can_be_shown,
    objects.objects_are_defined_once,
    objects.kinds_are_defined_before,
    objects.objects_are_not_too_many,
    objects.keys_of_objects_are_unique,
    jobs.jobs_can_be_made,
    jobs.pods_are_not_refused_by_default,
    jobs.fields_of_pods_are_kept,
    rendered_secrets.secrets_are_in_secrets_alone,
)
"""Checks of what the templates render to."""


def verify(package: Package) -> tuple[Finding, ...]:
    """Return everything that is wrong with a package; the same findings in the same order."""
    rendered = Rendering(package)
    declared = (finding for check in CHECKS for finding in check(package))
    made = (finding for check in RENDERED_CHECKS for finding in check(rendered))
    reached = _templates_that_run(package)
    return tuple(
        _judged(located(finding, package), reached)
        for findings in (declared, made)
        for finding in findings
    )


def _judged(finding: Finding, reached: Set[str]) -> Finding:
    """Return a finding as tolerated if no plan uses its template; its size counts all the same."""
    file = finding.place.file
    if finding.code == "PackageTooLarge":
        return finding
    name = template_name(file) if is_template(file) else file
    if finding.is_error and (is_template(file) or is_script(file)) and name not in reached:
        return replace(finding, tolerated=True)
    return finding


def _templates_that_run(package: Package) -> Set[str]:
    plans = (package.operator.plans or {}).values()
    used = {name for plan in plans for step in steps_of(plan) for name in step.tasks}
    return {
        file
        for task in package.operator.tasks
        if task.name in used
        for file in templates.templates_of(task)
    }


def located(finding: Finding, package: Package) -> Finding:
    """Return a finding with the line and column of its place."""
    place = finding.place
    if place.file == OPERATOR_FILE and not place.line:
        written = replace(place, path=package.expansion.written(place.path))
        problem = replace(finding.problem, field=str(written))
        finding, place = replace(finding, problem=problem), written
    if place.path and not place.line:
        source = source_of(package.files.files.get(place.file, b""))
        position = source.position(place.path)
        if position is not None:
            place = replace(place, line=position.line, column=position.column)
    elif not place.path and place.file not in package.files.files:
        # The name of a template may leave out some of its path.
        names = {place.file.removeprefix("templates/"), place.file}
        paths = (path for path in package.files.files if is_template(path))
        path = next((path for path in paths if template_name(path) in names), place.file)
        place = replace(place, file=path)
    return replace(finding, place=place)
