"""`kubectl kudo package add plan`: adds a plan to a package."""

from typing import Any

from kubectl_kudo.commands.package.add.target import COMMON, HELP, Target, is_asked, target_of
from kubectl_kudo.session.arguments import Args, Flag
from kubectl_kudo.session.asking import agree, ask, choose, needed
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kudo.api.names import PLAN_DEPLOY
from kudo.authoring.edit import Addition
from kudo.packages.files import OPERATOR_FILE

JsonObject = dict[str, Any]
_STRATEGIES = ("serial", "parallel")
_MAIN = "main"


def run(args: Args) -> None:
    """Add a plan of the command line, or of the answers.

    Raises:
        CliError: the plan is not valid, or the package cannot be changed.
    """
    asked = is_asked(args, "plan")
    target = target_of(args)
    name, plan = _answered(args, target) if asked else (args.arguments[0], _given(args))
    text = target.with_additions(OPERATOR_FILE, Addition("plans", plan, name))
    target.write({OPERATOR_FILE: text}, f"plan {name}")


COMMAND = Command(
    run,
    "[name]",
    (
        Flag(
            ("--strategy",),
            "whether phases run serial or parallel (default: serial)",
            "name",
            "serial",
        ),
        Flag(
            ("--phase",),
            "name=parallel or name=serial: how its steps run; may be repeated",
            "phase",
            repeat=True,
        ),
        Flag(
            ("--step",),
            "phase/step=task,task, in their order; without phase it is main; may be repeated",
            "step",
            repeat=True,
        ),
        *COMMON,
    ),
    more=HELP,
    examples=(
        ("One step with two tasks", "package add plan backup --step copy=dump,upload"),
        (
            "Two phases",
            "package add plan restore --step stop/app=stop --step go/db=db --phase go=parallel",
        ),
    ),
)


def _given(args: Args) -> JsonObject:
    strategies = dict(_strategy(text) for text in args.phase)
    phases: dict[str, JsonObject] = {}
    for text in args.step:
        phase, step = _step(text)
        strategy = strategies.get(phase, _STRATEGIES[0])
        made = phases.setdefault(phase, {"name": phase, "strategy": strategy, "steps": []})
        made["steps"].append(step)
    if not phases:
        raise UsageError("a plan needs a step: --step phase/step=task,task")
    unused = [phase for phase in strategies if phase not in phases]
    if unused:
        raise UsageError(f"--phase {unused[0]}: no --step is in that phase")
    if args.strategy not in _STRATEGIES:
        raise UsageError(f'--strategy "{args.strategy}" is neither serial nor parallel')
    return {"strategy": args.strategy, "phases": [*phases.values()]}


def _strategy(text: str) -> tuple[str, str]:
    name, _, strategy = text.partition("=")
    if not name or strategy not in _STRATEGIES:
        raise UsageError(f"--phase {text}: write name=parallel or name=serial")
    return name, strategy


def _step(text: str) -> tuple[str, JsonObject]:
    place, equals, tasks = text.partition("=")
    phase, slash, step = place.partition("/")
    if not slash:
        phase, step = _MAIN, place
    if not (phase and step and equals and tasks):
        raise UsageError(f"--step {text}: write phase/step=task,task")
    return phase, {"name": step, "tasks": _tasks(tasks)}


def _tasks(text: str) -> list[str]:
    return [task.strip() for task in text.split(",") if task.strip()]


def _answered(args: Args, target: Target) -> tuple[str, JsonObject]:
    plans = target.package.operator.plans or {}

    def name_fault(name: str) -> str:
        return f'there is a plan "{name}" already' if name in plans else needed(name)

    proposed = "" if PLAN_DEPLOY in plans else PLAN_DEPLOY
    name = ask("Plan Name", args.arguments[0] if args.arguments else proposed, name_fault)
    strategy = choose("Plan Strategy", _STRATEGIES, args.strategy)
    phases = [_asked_phase(target, _MAIN)]
    while agree("Add another Phase"):
        phases.append(_asked_phase(target, ""))
    return name, {"strategy": strategy, "phases": phases}


def _asked_phase(target: Target, proposed: str) -> JsonObject:
    name = ask("Phase Name", proposed, needed)
    strategy = choose(f"Strategy of Phase {name}", _STRATEGIES, _STRATEGIES[0])
    steps = [_asked_step(target)]
    while agree("Add another Step"):
        steps.append(_asked_step(target))
    return {"name": name, "strategy": strategy, "steps": steps}


def _asked_step(target: Target) -> JsonObject:
    existing = [task.name for task in target.package.operator.tasks]

    def tasks_fault(answer: str) -> str:
        unknown = [task for task in _tasks(answer) if task not in existing]
        if unknown:
            return f'there is no task "{unknown[0]}"; add it first with package add task'
        return needed(answer)

    name = ask("Step Name", "", needed)
    tasks = ask(f"Tasks, separated by commas ({', '.join(existing)})", "", tasks_fault)
    return {"name": name, "tasks": _tasks(tasks)}
