"""Adds a template to a package, and a task that applies it."""

from kubectl_kudo.authoring.adding.target import TEMPLATES, target_of, template_file
from kubectl_kudo.authoring.asking import ask, choose, needed
from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.errors import CliError
from kudo.authoring.edit import Addition
from kudo.authoring.starters import STARTERS
from kudo.packages.files import OPERATOR_FILE


def add_template(args: Args, *, asked: bool) -> None:
    """Add a template of the command line, or of the answers.

    Raises:
        CliError: there is a file of that name, or the package cannot be changed.
    """
    target = target_of(args)
    name, kind, task = args.arguments[0] if args.arguments else "", args.kind, args.task
    if asked:
        name = ask("Template Name", name, needed)
        kind = choose("Kind", [*STARTERS], kind)
        task = ask("Task that applies it (optional)", task)
    if kind not in STARTERS:
        raise CliError(f'"{kind}" is not a kind of template; it can be {", ".join(STARTERS)}')
    file = template_file(name)
    path = f"{TEMPLATES}/{file}"
    if target.has_template(file):
        raise CliError(f"{target.folder / path} exists already")
    changes = {path: STARTERS[kind]}
    if task:
        item = {"name": task, "kind": "Apply", "spec": {"resources": [file]}}
        changes[OPERATOR_FILE] = target.with_additions(OPERATOR_FILE, Addition("tasks", item))
    target.write(changes, f"template {file}")
