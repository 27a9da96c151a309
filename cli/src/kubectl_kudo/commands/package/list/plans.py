"""`kubectl kudo package list plans`: the plans of a package."""

from collections.abc import Mapping

from kubectl_kudo.commands.package.list.parameters import package_of
from kubectl_kudo.session.arguments import OUTPUT, REPOSITORY, Args, Flag
from kubectl_kudo.session.blocks import Node, Prose, Tree
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.output import check_format, many, show
from kudo.api import Phase, Step, Task
from kudo.api.task_kinds import kind_of
from kudo.authoring.description import SERIAL, default_of, plan_data
from kudo.packages.model import PackageParameter, PackagePlan


def run(args: Args) -> None:
    """Print the plans, sorted.

    Raises:
        CliError: the package cannot be read.
    """
    if len(args.arguments) != 1 or not args.arguments[0]:
        raise UsageError(
            "expecting exactly one argument - directory of the operator or name of package"
        )
    check_format(args.output)
    operator = package_of(args).operator
    plans = sorted((operator.plans or {}).items())
    if args.output:
        print(many((plan_data(*item) for item in plans), args.output), end="")
    elif not plans:
        print("no plans found")
    else:
        tasks = {task.name: task for task in reversed(operator.tasks)} if args.with_tasks else None
        show(Tree([_plan(name, plan, tasks) for name, plan in plans], "plans"), Prose())


COMMAND = Command(
    run,
    "<folder|tgz|url|name>",
    (
        Flag(
            ("--with-tasks", "-t"), "show kinds and templates of the tasks as well", default=False
        ),
        OUTPUT,
        *REPOSITORY,
    ),
    examples=(
        ("Plans, phases, steps and tasks", "package list plans ./web"),
        ("The templates of each task as well", "package list plans ./web --with-tasks"),
    ),
)


def _plan(name: str, plan: PackagePlan, tasks: Mapping[str, Task] | None) -> Node:
    parameters = [_parameter(parameter) for parameter in plan.parameters or ()]
    phases = [_phase(phase, tasks) for phase in plan.phases or ()]
    about = f"{plan.strategy or SERIAL}{_timeout(plan.timeout)}"
    return Node(f"{name} ({about})", [*parameters, *phases])


def _parameter(parameter: PackageParameter) -> Node:
    default = default_of(parameter)
    if default is not None:
        about = f"default {' '.join(default.split()) or 'empty'}"
    else:
        about = "required" if parameter.required else "optional"
    kind = f"{parameter.type}, " if parameter.type else ""
    return Node(f"[parameter]  {parameter.name} ({kind}{about})")


def _phase(phase: Phase, tasks: Mapping[str, Task] | None) -> Node:
    steps = [_step(step, tasks) for step in phase.steps]
    about = f"{phase.strategy or SERIAL}{_timeout(phase.timeout)}{_when(phase)}"
    return Node(f"[phase]  {phase.name} ({about})", steps)


def _timeout(text: str | None) -> str:
    return f", timeout {text}" if text else ""


def _when(part: Phase | Step) -> str:
    return f", when {' '.join(part.when.split())}" if part.when else ""


def _step(step: Step, tasks: Mapping[str, Task] | None) -> Node:
    if tasks is None:
        below = [Node(name) for name in step.tasks]
    else:
        below = [_task(tasks[name]) for name in step.tasks if name in tasks]
    about = f"{_timeout(step.timeout)}{_when(step)}".removeprefix(", ")
    return Node(f"[step]  {step.name}{f' ({about})' if about else ''}", below)


def _task(task: Task) -> Node:
    kind = kind_of(task)
    parts = [Node(f"[{word}]  {name}" if word else name) for word, name in kind.parts(task)]
    return Node(f"[{kind.word()}]  {task.name}", parts)
