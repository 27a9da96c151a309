"""`kubectl kudo package add task`: adds a task to a package."""

from kubectl_kudo.authoring.adding.flags import COMMON, HELP, is_asked
from kubectl_kudo.core.arguments import Args, Flag
from kubectl_kudo.core.command import Command
from kudo.tasks import DEFAULT_KIND, any_kind, kinds_with


def run(args: Args) -> None:
    asked = is_asked(args, "task")
    from kubectl_kudo.authoring.adding.add_task import add_task

    add_task(args, asked=asked)


_FILE = "file=PATH or envFile=PATH, kind=Secret or ConfigMap, key=NAME"


def _flag(name: str, field: str, about: str, value: str, *, repeat: bool = False) -> Flag:
    """Return the flag of a field of the spec, which says what kinds have it."""
    more = "; may be repeated" if repeat and value == about else ""
    return Flag((name,), f"{about} ({kinds_with(field)}){more}", value, repeat=repeat)


COMMAND = Command(
    run,
    "[name]",
    (
        Flag(("--kind",), f"{any_kind()} (default: {DEFAULT_KIND})", "kind", DEFAULT_KIND),
        _flag("--resource", "resources", "template", "template", repeat=True),
        _flag("--toggle", "parameter", "parameter that decides", "parameter"),
        _flag("--pod", "pod", "template of the pod", "template"),
        _flag("--pipe", "pipe", _FILE, "list", repeat=True),
        _flag("--package", "package", "path or name of the package", "package"),
        _flag("--parameter-file", "parameterFile", "template of its parameters", "template"),
        _flag("--instance-name", "instanceName", "name of its instance", "name"),
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
