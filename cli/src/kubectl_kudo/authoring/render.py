"""`kubectl kudo package render`: prints what a plan would apply, without a cluster."""

from kubectl_kudo.core.arguments import OUTPUT, PARAMETERS, Args, Flag
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError


def run(args: Args) -> None:
    if len(args.arguments) > 1:
        raise UsageError("expecting at most one argument - directory or archive of the operator")
    from kubectl_kudo.authoring.render_plan import render_plan

    render_plan(args)


COMMAND = Command(
    run,
    "[folder|tgz]",
    (
        *PARAMETERS,
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
    "KUDO adds\nare left out. An error names the line of the template beside the rendered one.\n\n"
    "Without an argument, the package is the working directory or the only folder in it that is "
    "one.",
    examples=(
        ("What an installation would apply", "package render ./web"),
        ("With other values", "package render ./web -p replicas=3 -P values.yaml"),
        ("One step of another plan", "package render ./web --plan update --step servers"),
    ),
)
