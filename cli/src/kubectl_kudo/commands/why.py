"""`kubectl kudo why`: names the cause for which Instances are not ready, and the next command."""

from kubectl_kudo.diagnostics.explain import explain
from kubectl_kudo.session.arguments import INSTANCE, OUTPUT, Args, Flag
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.output import check_format
from kubectl_kudo.session.session import in_session


def run(args: Args) -> None:
    check_format(args.output)
    in_session(args, lambda session: explain(session, args))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(
            ("--kudo-namespace",),
            "namespace of KUDO's services (default: where they are found)",
            "name",
        ),
        OUTPUT,
    ),
    more="Without a name it tells of all instances of the namespace that are not ready. It reads\n"
    "the instance and its children, the objects that their plans have applied, the pods and\n"
    "events of these, and the services of KUDO. Nothing is changed, and no file is written;\n"
    "`kubectl kudo diagnostics collect` has the same findings, and the logs for a bug report.\n"
    "\n"
    "If the cause is a container that has failed, the last lines of its log are shown.\n"
    "\n"
    "What may not be read is told in one line. The exit code is 0 also if something is wrong.",
    examples=(
        ("What does the instance wait for?", "why web"),
        ("What is wrong in this namespace?", "why -n shop"),
        ("For a script", "why web -o json"),
    ),
)
