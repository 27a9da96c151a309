"""`kubectl kudo package add task`: adds a task to a package."""

from kubectl_kudo.authoring.adding.flags import COMMON, HELP, is_asked
from kubectl_kudo.core.arguments import Args, Flag
from kubectl_kudo.core.command import Command


def run(args: Args) -> None:
    asked = is_asked(args, "task")
    from kubectl_kudo.authoring.adding.add_task import add_task

    add_task(args, asked=asked)


COMMAND = Command(
    "package add task",
    "Add a task to a package.",
    run,
    "[name]",
    (
        Flag(
            ("--kind",),
            "Apply, Delete, Toggle, Pipe, KudoOperator or Dummy (default: Apply)",
            "kind",
            "Apply",
        ),
        Flag(
            ("--resource",),
            "template (Apply, Delete, Toggle); may be repeated",
            "template",
            repeat=True,
        ),
        Flag(("--toggle",), "parameter that decides (Toggle)", "parameter"),
        Flag(("--pod",), "template of the pod (Pipe)", "template"),
        Flag(
            ("--pipe",),
            "file=PATH or envFile=PATH, kind=Secret or ConfigMap, key=NAME (Pipe)",
            "list",
            repeat=True,
        ),
        Flag(("--package",), "path or name of the package (KudoOperator)", "package"),
        Flag(("--parameter-file",), "template of its parameters (KudoOperator)", "template"),
        Flag(("--instance-name",), "name of its instance (KudoOperator)", "name"),
        *COMMON,
    ),
    more=f"{HELP}\n\nTemplates that do not exist are created; `.yaml` can be left out.",
    examples=(
        ("Apply templates/service.yaml", "package add task network --resource service"),
        (
            "Apply or delete it",
            "package add task extras --kind Toggle --toggle EXTRAS --resource x",
        ),
        (
            "Copy a file out of a pod",
            "package add task key --kind Pipe --pod key --pipe file=/out/k,kind=Secret,key=k",
        ),
    ),
)
