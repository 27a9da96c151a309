"""`kubectl kudo describe`: shows one instance with all that belongs to it."""

from kubectl_kudo.core.arguments import INSTANCE, OUTPUT, Args
from kubectl_kudo.core.command import Command
from kubectl_kudo.core.errors import UsageError

_WORDS = ("instance", "instances", "instances.kudo.dev", "ki")
"""As `core.kinds.BY_WORD` has them, which would take time to import."""
_TWO = "expecting exactly two arguments - instance and its name, such as: describe instance kafka"


def run(args: Args) -> None:
    name = _name(args)
    from kubectl_kudo.core.naming import name_fault
    from kubectl_kudo.core.output import check_format
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.get.describe_instance import describe_instance

    check_format(args.output)
    fault = name_fault("instance", name)
    if fault:
        raise UsageError(fault)
    in_session(args, lambda session: describe_instance(session, name, args.output))


def _name(args: Args) -> str:
    """Return the name of the instance, from the arguments or from the flag."""
    if args.instance and not args.arguments:
        return str(args.instance)
    if args.instance or len(args.arguments) != 2:
        raise UsageError(_TWO)
    kind, name = args.arguments
    if kind not in _WORDS:
        raise UsageError(f'only an instance can be described, and not "{kind}": use get')
    return str(name)


COMMAND = Command(
    run,
    "instance <name>",
    (INSTANCE, OUTPUT),
    more="`describe --instance <name>` is the same. Of each parameter it tells whether the value\n"
    "is set or the default. A value whose name sounds like a secret is hidden; -o json and -o\n"
    "yaml print it. Objects are found by their labels and owners; kinds that could not be\n"
    "listed are named at the end.",
    examples=(
        ("Everything about an instance", "describe instance my-kafka"),
        ("As data", "describe instance my-kafka -o json"),
    ),
)
