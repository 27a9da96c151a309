"""`kubectl kudo package add template`: adds a template to a package."""

from kubectl_kudo.authoring.adding.flags import COMMON, is_asked
from kubectl_kudo.core.arguments import Args, Flag
from kubectl_kudo.core.command import Command


def run(args: Args) -> None:
    asked = is_asked(args, "template")
    from kubectl_kudo.authoring.adding.add_template import add_template

    add_template(args, asked=asked)


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
