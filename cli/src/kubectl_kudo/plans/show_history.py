"""Shows how the last run of each plan of an Instance ended."""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.output import JsonObject, one
from kubectl_kudo.core.session import Session
from kubectl_kudo.core.tree import Node, draw
from kubectl_kudo.state.plan_view import local_time
from kubectl_kudo.state.runs import PENDING, RUNNING, active, entries, status_of


async def history(session: Session, args: Args) -> None:
    """Print one line for each plan; the API keeps no more than its last run."""
    instance = await session.existing_instance(args.instance)
    if args.output:
        print(one(entries(instance), args.output), end="")
    else:
        print(draw(last_runs(instance)))


def last_runs(instance: JsonObject) -> list[Node]:
    """Return a line for each plan, sorted by name."""
    known, running = entries(instance), active(instance)
    plans = sorted({*known, *({running.plan} if running else ())})
    return [Node(f"{plan} ({_state(instance, plan, known.get(plan) or {})})") for plan in plans]


def _state(instance: JsonObject, plan: str, entry: JsonObject) -> str:
    running = active(instance)
    if running and running.plan == plan:
        begun = (entry.get("uid") or "") == running.uid
        return f"is running ({status_of(entry) if begun else PENDING})"
    if status_of(entry) in RUNNING:
        return f"is running ({status_of(entry)})"
    ended = local_time(entry.get("lastUpdatedTimestamp"), "%Y-%m-%dT%H:%M:%S")
    if ended:
        return f"last finished run at {ended} ({status_of(entry)})"
    return entry.get("status") or "never run"
