"""`kubectl kudo package add parameter`: adds a parameter to a package."""

from kubectl_kudo.authoring.adding.flags import COMMON, HELP, is_asked
from kubectl_kudo.core.arguments import Args, Flag
from kubectl_kudo.core.command import Command


def run(args: Args) -> None:
    asked = is_asked(args, "parameter")
    from kubectl_kudo.authoring.adding.add_parameter import add_parameter

    add_parameter(args, asked=asked)


COMMAND = Command(
    run,
    "[name]",
    (
        Flag(("--type",), "string, integer, number, boolean, array or map", "type"),
        # A list, so that an empty default can be told from none.
        Flag(("--default",), "its value if an instance sets none", "value", repeat=True),
        Flag(("--display-name",), "name for people", "text"),
        Flag(("--description",), "what it is for", "text"),
        Flag(
            ("--required",),
            "whether it needs a value (default: true); --required=false writes that down",
            default=True,
        ),
        Flag(("--immutable",), "it cannot be changed later", default=False),
        Flag(("--trigger",), "plan that a change runs", "plan"),
        Flag(("--enum",), "one of the only values allowed; may be repeated", "value", repeat=True),
        Flag(("--group",), "group for people; it is defined if it is not yet", "name"),
        Flag(("--advanced",), "most users need not care", default=False),
        Flag(("--hint",), "a hint for people", "text"),
        *COMMON,
    ),
    more=HELP,
    examples=(
        ("A number of servers", "package add parameter servers --type integer --default 3"),
        ("An optional text", "package add parameter motto --required=false --trigger deploy"),
    ),
)
