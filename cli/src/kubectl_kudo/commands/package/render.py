"""`kubectl kudo package render`: prints what a plan would apply, without a cluster."""

from collections.abc import Iterable, Iterator

from kubectl_kudo.packages.install_set import as_declared, check_instance
from kubectl_kudo.packages.package_folder import package_folder
from kubectl_kudo.session.arguments import OUTPUT, PARAMETERS, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError, ExitCode, UsageError
from kubectl_kudo.session.names import did_you_mean
from kubectl_kudo.session.output import JsonObject, check_format, many
from kubectl_kudo.session.terminal import word
from kubectl_kudo.session.values import given_values, values_of_run
from kudo.api import OperatorVersion
from kudo.authoring.preview import Previewed, preview, preview_instance
from kudo.packages.convert import to_objects
from kudo.packages.location import locate
from kudo.packages.readable_yaml import dump
from kudo.packages.resolution import resolve
from kudo.parameters.values import check_value

_VERBS = {"delete": "deletes", "read": "reads"}
"""Of actions that need no more of an object than its name."""


def run(args: Args) -> None:
    """Print what the plan would apply, once all of it could be rendered.

    Raises:
        CliError: the plan or the step does not exist, or a value is missing or invalid.
        InvalidInput: the package cannot be read.
        PreviewError: a template cannot be rendered.
    """
    if len(args.arguments) > 1:
        raise UsageError("expecting at most one argument - directory or archive of the operator")
    check_format(args.output)
    given = given_values(args)
    located = locate(args.arguments[0] if args.arguments else package_folder())
    if args.expanded:
        print(dump(located.package.expansion.document), end="")
        return
    namespace = args.namespace or "default"
    objects = to_objects(resolve(located, None).root, namespace)
    version = objects.operator_version
    _check_plan(version, args.plan, args.step)
    plan = version.plans[args.plan]
    booleans = {each.name for each in plan.declared.values() if each.value_type == "boolean"}
    of_run = values_of_run(
        booleans, {each: value for each, value in given.items() if each in plan.declared}
    )
    faults = [check_value(plan.declared[each], value) for each, value in of_run.items()]
    if any(faults):
        texts = [f"run {fault.message}" for fault in faults if fault is not None]
        raise CliError("; ".join(texts), code=ExitCode.DENIED)
    given = {each: value for each, value in given.items() if each not in of_run}
    values = as_declared(version, given)
    name = args.instance or objects.instance.metadata.name
    check_instance(name, version, values, is_preview=True)
    instance = preview_instance(version, name, namespace, values)
    items = preview(version, instance, args.plan, step=args.step, run_parameters=of_run)
    if args.output:
        print(many(map(_data, items), args.output), end="")
    else:
        # Joined first: nothing is printed of a plan of which a later template cannot be rendered.
        print("".join(map(document, items)), end="")


COMMAND = Command(
    run,
    "[folder|tgz]",
    (
        *PARAMETERS,
        Flag(("--expanded",), "print operator.yaml in the long form, and nothing else"),
        Flag(("--plan",), "plan to render (default: deploy)", "name", "deploy"),
        Flag(("--step",), "render only this step of the plan", "name"),
        Flag(("--instance",), "name of the instance (default: <operator>-instance)", "name"),
        Flag(
            OUTPUT.names,
            "yaml or json: print a list of objects with action, task and template",
            OUTPUT.value,
        ),
    ),
    more="Objects that a task deletes are comments. Labels, annotations, owner and namespace that "
    "KUDO adds\nare left out. An error names the line of the template beside the rendered one. "
    "Outputs of Job tasks\nare shown as <task.name>: only a run has their texts. -p also takes the "
    "parameters that the plan\ndeclares for its runs; <run.name> stands for a required one.\n\n"
    "Without an argument, the package is the working directory or the only folder in it that is "
    "one.",
    examples=(
        ("What an installation would apply", "package render ./web"),
        ("With other values", "package render ./web -p replicas=3 -P values.yaml"),
        ("One step of another plan", "package render ./web --plan update --step servers"),
        ("What the short form of plans stands for", "package render ./web --expanded"),
    ),
)


def _check_plan(version: OperatorVersion, plan: str, step: str) -> None:
    if plan not in version.plans:
        raise CliError(f'plan "{plan}" is not defined; {_hint(plan, version.plans)}')
    steps = [step.name for phase in version.plans[plan].phases or () for step in phase.steps]
    if step and step not in steps:
        raise CliError(f'plan "{plan}" has no step "{step}"; {_hint(step, steps)}')


def _hint(name: str, choices: Iterable[str]) -> str:
    names = [*choices]
    return did_you_mean(name, names) or word(f"it can be {', '.join(names) or 'none'}")


def _data(item: Previewed) -> JsonObject:
    at = item.position
    fields = {
        "plan": at.plan,
        "phase": at.phase,
        "step": at.step,
        "task": at.task,
        "kind": item.kind,
        "action": item.shown.action,
        "when": list(item.when) or None,
        "template": item.shown.template or None,
        "object": item.shown.object,
    }
    return {name: value for name, value in fields.items() if value is not None}


def document(item: Previewed) -> str:
    """Return one YAML document; one without an object is a comment."""
    template = f", template {item.shown.template}" if item.shown.template else ""
    # A name with a line end would end the comment, and could go on with an object.
    comment = word(f"# {item.position}{template}")
    conditions = (word(f"# when: {' '.join(expression.split())}") for expression in item.when)
    return "\n".join(["---", comment, *conditions, *_lines(item)]) + "\n"


def _lines(item: Previewed) -> Iterator[str]:
    action, obj, remark = item.shown.action, item.shown.object, item.shown.remark
    if obj is None:
        yield f"# {action}: a {item.kind} task has no objects"
    elif action in _VERBS:
        yield word(f"# {_VERBS[action]} {obj['kind']} {_named(obj['metadata'])}")
        if remark:
            yield word(f"# {remark}")
    else:
        if remark:
            yield f"# {remark}"
        yield dump(obj).rstrip("\n")


def _named(metadata: JsonObject) -> str:
    """Return what names objects: the name of one, or labels."""
    labels = metadata.get("labels") or {}
    return metadata.get("name") or ",".join(f"{label}={text}" for label, text in labels.items())
