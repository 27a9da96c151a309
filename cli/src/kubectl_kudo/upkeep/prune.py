"""`kubectl kudo prune`: has the reconciler delete the orphans of an Instance."""

from kubectl_kudo.core.arguments import INSTANCE, WAIT_TIME, WRITING, Args, Flag
from kubectl_kudo.core.command import Command


def run(args: Args) -> None:
    from kubectl_kudo.upkeep.prune_orphans import prune

    prune(args)


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(("--wait",), "wait until they are deleted, and tell which are", default=False),
        WAIT_TIME,
        Flag(("--yes",), "do not ask", default=False),
        *WRITING,
    ),
    required=("instance",),
    more="An object becomes an orphan when the task that applied it has run without it, or when\n"
    "the version of the instance has no such task any more. The command lists what would be\n"
    "deleted, and what stays and why, asks, and has KUDO delete it as the account of the\n"
    "instance. It is done when no plan runs and the instance is not suspended.\n"
    "\n"
    "What another instance shares, what is retained or adopted, and what belongs to\n"
    "somebody else by now stays. So do Namespaces, CustomResourceDefinitions,\n"
    "PersistentVolumes and PersistentVolumeClaims, unless they have the annotation\n"
    'kudo.dev/prune: "true".\n'
    "\n"
    "`prune: true` in operator.yaml, or in the spec of an instance, has orphans deleted after\n"
    "each plan, without this command.\n"
    "\n"
    "The exit code is 0 when the request is made, with --wait when KUDO has done it, also if\n"
    "objects stay: status.orphans of the instance then names them.",
    examples=(
        ("What would be deleted, and what stays?", "prune --instance web --dry-run=client"),
        ("Delete it after a question, and tell what is deleted", "prune --instance web --wait"),
        ("In a script", "prune --instance web --wait --yes"),
    ),
)
