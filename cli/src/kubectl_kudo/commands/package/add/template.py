"""`kubectl kudo package add template`: adds a template to a package."""

from kubectl_kudo.commands.package.add.target import (
    COMMON,
    TEMPLATES,
    is_asked,
    target_of,
    template_file,
)
from kubectl_kudo.session.arguments import Args, Flag
from kubectl_kudo.session.asking import ask, choose, needed
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import CliError
from kudo.api.task_kinds import DEFAULT_KIND, kind_of
from kudo.authoring.edit import Addition
from kudo.authoring.skeleton import KINDS, starter
from kudo.packages.files import OPERATOR_FILE
from kudo.packages.model import Package


def run(args: Args) -> None:
    """Add a template of the command line, or of the answers.

    Raises:
        CliError: there is a file of that name, or the package cannot be changed.
    """
    asked = is_asked(args, "template")
    target = target_of(args)
    name, kind, task = args.arguments[0] if args.arguments else "", args.kind, args.task
    if asked:
        name = ask("Template Name", name, needed)
        kind = choose("Kind", [*KINDS], kind)
        task = ask("Task that applies it (optional)", task)
    if kind not in KINDS:
        raise CliError(f'"{kind}" is not a kind of template; it can be {", ".join(KINDS)}')
    file = template_file(name)
    path = f"{TEMPLATES}/{file}"
    if target.has_template(file):
        raise CliError(f"{target.folder / path} exists already")
    changes = {path: starter(kind, file)}
    if task:
        changes[OPERATOR_FILE] = target.with_additions(
            OPERATOR_FILE, _applied_by(task, file, target.package)
        )
    target.write(changes, f"template {file}")


COMMAND = Command(
    run,
    "[name]",
    (
        Flag(
            ("--kind",),
            "ConfigMap, Secret, Service, Deployment or Job (default: ConfigMap)",
            "kind",
            "ConfigMap",
        ),
        Flag(("--task",), "add it to this task; a new one is of kind Apply", "name"),
        *COMMON,
    ),
    more="The template has one object of that kind, to be changed. A file that exists is never "
    "replaced, and\nnothing is written if the package would have errors that it does not have "
    "now. Without arguments,\nthe command asks if it runs on a terminal.",
    examples=(
        ("Write templates/settings.yaml", "package add template settings"),
        ("Applied by task app", "package add template page --task app"),
        ("With a new task", "package add template web --kind Service --task network"),
    ),
)


def _applied_by(name: str, file: str, package: Package) -> Addition:
    """Return what has to be added so that a task applies the template: the task, if it is new."""
    for position, task in enumerate(package.operator.tasks):
        if task.name == name:
            if kind_of(task).action is None:
                raise CliError(f"task {name} is of kind {task.kind}, which applies no templates")
            # The task may stand in a step, where a list alone is its resources.
            *above, key = package.expansion.place(("tasks", position, "spec", "resources"))
            path = tuple(part if isinstance(part, int) else str(part) for part in above)
            return Addition(str(key), file, path=path)
    item = {"name": name, "kind": DEFAULT_KIND, "spec": {"resources": [file]}}
    return Addition("tasks", item)
