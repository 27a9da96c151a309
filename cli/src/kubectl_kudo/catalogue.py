"""The commands there are, in the order in which the help shows them, and what the help says."""

from kubectl_kudo.arguments import INSTANCE, OUTPUT, PARAMETERS, WAIT, WAIT_TIME, Flag
from kubectl_kudo.command import Command, Group

_WAITING = (
    "With --wait the progress is shown on stderr: as a tree on a terminal, as lines otherwise. "
    "The\ncommand then fails as soon as the plan does, and says in which step and why."
)

INSTALL = Command(
    "install",
    "Install an operator from a folder or a .tgz file, and create an instance of it.",
    "install",
    "<folder|tgz>",
    (
        Flag(("--instance",), "name of the instance (default: <operator>-instance)", "name"),
        *PARAMETERS,
        WAIT,
        WAIT_TIME,
        Flag(("--skip-instance",), "create no instance, only make it possible", default=False),
    ),
    more="Everything is checked before anything is created. What was installed before and is the "
    "same\nis left alone, so that the command can be repeated.\n\n" + _WAITING,
    examples=(
        ("Install a package from a folder and wait until it is deployed", "install ./web --wait"),
        (
            "A second instance with other values, in another namespace",
            "install ./web --instance shop -p replicas=3 -n shop",
        ),
    ),
)
UPDATE = Command(
    "update",
    "Change parameters of an instance; the plan that they trigger runs.",
    "update",
    flags=(INSTANCE, *PARAMETERS, WAIT, WAIT_TIME),
    more="Parameters that are not named keep their values.\n\n" + _WAITING,
    examples=(
        (
            "Change one parameter and wait for the plan",
            "update --instance web -p replicas=3 --wait",
        ),
        ("Take the values from a file", "update --instance web -P values.yaml"),
    ),
)
UNINSTALL = Command(
    "uninstall",
    "Delete an instance and what it created; its cleanup plan runs first, if it has one.",
    "uninstall",
    flags=(INSTANCE, WAIT, WAIT_TIME),
    required=("instance",),
    more="The operator and its versions stay, for other instances.",
    examples=(("Delete an instance and wait until it is gone", "uninstall --instance web --wait"),),
)
GET = Command(
    "get",
    "List the instances, operators or operatorversions of a namespace.",
    "get",
    "<instances|operators|operatorversions|all>",
    (OUTPUT,),
    examples=(
        ("Instances below their versions and operators", "get all"),
        ("Instances as JSON", "get instances -o json"),
    ),
)
PLAN_STATUS = Command(
    "plan status",
    "Show the plans of an instance, and how far the last one came.",
    "plan_status",
    flags=(INSTANCE, WAIT, OUTPUT),
    required=("instance",),
    more="With --wait the command ends when the plan does: well on COMPLETE, with an error on "
    "FATAL_ERROR.\nWith -o it prints the status of the instance as data.",
    examples=(
        ("Watch the plan until it ends", "plan status --instance web --wait"),
        ("The status as YAML", "plan status --instance web -o yaml"),
    ),
)
PLAN_TRIGGER = Command(
    "plan trigger",
    "Run a plan of an instance, or start the running one again.",
    "plan_trigger",
    flags=(INSTANCE, Flag(("--name",), "name of the plan", "plan"), WAIT, WAIT_TIME),
    more="Another plan cannot be run while one is running.\n\n" + _WAITING,
    examples=(
        ("Run the plan `backup`", "plan trigger --instance web --name backup"),
        ("Run it and wait for its end", "plan trigger --instance web --name backup --wait"),
    ),
)
VERSION = Command(
    "version",
    "Print the version of this plugin; no cluster is asked.",
    "version",
    flags=(OUTPUT,),
    examples=(("As JSON", "version -o json"),),
)

ROOT = Group(
    "",
    "Install operators as KUDO packages, and run the plans of their instances.",
    {
        "install": INSTALL,
        "update": UPDATE,
        "uninstall": UNINSTALL,
        "get": GET,
        "plan": Group(
            "plan",
            "See and run the plans of an instance.",
            {"status": PLAN_STATUS, "trigger": PLAN_TRIGGER},
        ),
        "version": VERSION,
    },
)
