"""What a namespace looks like when a scenario has failed."""

from tests.support.cluster.world import World

_QUESTIONS = (
    ("get", "pods,jobs,persistentvolumeclaims", "--output=wide"),
    ("get", "events", "--sort-by=.lastTimestamp", "--field-selector=type=Warning"),
    (
        *("logs", "--selector=galera", "--tail=40", "--prefix", "--all-containers"),
        "--max-log-requests=20",
    ),
)


async def diagnosis(world: World) -> str:
    """Return objects, warnings and the ends of logs as text."""
    admin = f"--kubeconfig={world.installation.cluster.kubeconfig('admin')}"
    answers = [(await world.kubectl(admin, *question)).output for question in _QUESTIONS]
    return "\n".join(answers)
