"""`kubectl kudo get`: lists what is installed in a namespace, or in all of them."""

from kubectl_kudo.screens.list_objects import get, kinds_of, read_request
from kubectl_kudo.screens.objects import get_objects, read_objects_format
from kubectl_kudo.session.arguments import INSTANCE, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.errors import UsageError
from kubectl_kudo.session.session import in_session

_CHOICES = "instances, operators, operatorversions or all"
_MORE = "what an instance owns is listed by: get objects --instance=<name>"
_OBJECTS = ("objects", "object")


def run(args: Args) -> None:
    if not args.arguments:
        raise UsageError(f'expecting exactly one argument - "{_CHOICES}"; {_MORE}')
    if args.arguments[0] in _OBJECTS:
        output = read_objects_format(args)
        in_session(args, lambda session: get_objects(session, args, output))
        return
    if args.instance:
        raise UsageError("--instance goes with objects: get objects --instance=<name>")
    if kinds_of(args.arguments[0]) is None:
        raise UsageError(f'expecting one of "{_CHOICES}" and not "{args.arguments[0]}"; {_MORE}')
    request = read_request(args)
    in_session(args, lambda session: get(session, request))


COMMAND = Command(
    run,
    "<instances|operators|operatorversions|objects|all> [name...]",
    (
        Flag(INSTANCE.names, "with objects: the instance that owns them", "name"),
        Flag(
            ("--output", "-o"),
            "table, wide, tree, json, yaml or name",
            "format",
        ),
        Flag(("--all-namespaces", "-A"), "list those of all namespaces, as tables", default=False),
        Flag(("--selector", "-l"), "list those with these labels, as tables", "selector"),
        Flag(("--headers",), "print the first line of tables (default: true)", default=True),
    ),
    more="On a terminal the default is a table. Where the output goes to a file or a pipe, it is "
    "the tree of\nKUDO 0.19, which scripts read; -o chooses either. Names, -A and -l always give "
    "a table.\n\n"
    "json and yaml print the objects themselves: a list as an array, as KUDO 0.19 does, and one\n"
    "object if one name is given. Templates are those of kubectl, which reads the same objects:\n"
    "`kubectl get instances.kudo.dev -o jsonpath=...`, or custom-columns, or go-template.\n\n"
    "objects are what the plans of an instance have applied, by its Inventory: each below the\n"
    "plan and the task that applied it last, with its health, its age, and whether it is shared,\n"
    "retained or adopted. An orphan is what no task applies any more; one that `prune` would\n"
    "leave tells why. They are read with your rights: what you may not read says so. -o table,\n"
    "wide, name, json and yaml have a line or an element for each object on record.",
    examples=(
        ("Instances with their operator, version, last plan and its state", "get instances"),
        ("Those of all namespaces, with more columns", "get instances -A -o wide"),
        ("One instance", "get instance my-kafka"),
        ("Instances below their versions and operators", "get all -o tree"),
        ("What an instance owns, below plans and tasks", "get objects --instance web"),
        ("Instances as JSON", "get instances -o json"),
    ),
)
