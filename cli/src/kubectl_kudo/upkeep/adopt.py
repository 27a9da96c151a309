"""`kubectl kudo adopt`: has the reconciler record what an Instance owns."""

from kubectl_kudo.core.arguments import INSTANCE, WAIT_TIME, WRITING, Args, Flag
from kubectl_kudo.core.command import Command


def run(args: Args) -> None:
    from kubectl_kudo.core.session import in_session
    from kubectl_kudo.upkeep.adopt_instance import adopt

    in_session(args, lambda session: adopt(session, args))


COMMAND = Command(
    run,
    flags=(
        INSTANCE,
        Flag(("--wait",), "wait until it is recorded", default=False),
        WAIT_TIME,
        *WRITING,
    ),
    required=("instance",),
    more="An instance that KUDO 0.19 or an older release has run gets its Inventory at its next\n"
    "run, and objects that earlier runs applied are not in it. This command makes it complete:\n"
    "KUDO looks for all objects with the labels and the uid of the instance, as the account of\n"
    "the instance, and records them. It only reads and records: no object is changed or\n"
    "deleted, and no plan runs. Kinds that the account may write and not list are named, and\n"
    "the Inventory is then not complete.\n"
    "\n"
    "It is done when no plan runs and the instance is not suspended. To repeat it does no\n"
    "harm: what is on record stays as it is.",
    examples=(
        ("Record what an instance owns, and show it", "adopt --instance web --wait"),
        ("What is on record then", "get objects --instance web"),
        ("Would the request be accepted?", "adopt --instance web --dry-run=server"),
    ),
)
