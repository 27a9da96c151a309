"""`kubectl kudo get`: lists what is installed in a namespace."""

from kubectl_kudo.core.arguments import OUTPUT, Args
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError

_CHOICES = "instances, operators, operatorversions or all"


def run(args: Args) -> None:
    if len(args.arguments) != 1:
        raise UsageError(f'expecting exactly one argument - "{_CHOICES}"')
    from kubectl_kudo.core.output import check_format
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.instances.list_objects import KINDS, get

    what = args.arguments[0]
    if what not in KINDS:
        raise UsageError(f'expecting one of "{_CHOICES}" and not "{what}"')
    check_format(args.output)
    in_session(args, lambda session: get(session, what, args.output))


COMMAND = Command(
    "get",
    "List the instances, operators or operatorversions of a namespace.",
    run,
    "<instances|operators|operatorversions|all>",
    (OUTPUT,),
    examples=(
        ("Instances below their versions and operators", "get all"),
        ("Instances as JSON", "get instances -o json"),
    ),
)
