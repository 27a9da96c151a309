"""Shows the last run of each plan of an Instance, and the runs that have ended.

The tree is the text of KUDO 0.19, which scripts read; the table of runs stands below it.
"""

from kubectl_kudo.core.arguments import Args
from kubectl_kudo.core.cells import local_time
from kubectl_kudo.core.output import JsonObject, one, talk
from kubectl_kudo.core.session import Session
from kubectl_kudo.core.tree import Node, draw
from kubectl_kudo.plans.runs_table import runs_table
from kubectl_kudo.state.runs import PENDING, RUNNING, active, entries, records, status_of


async def history(session: Session, args: Args) -> None:
    """Print the tree and the table, or what `-o` asks for."""
    instance = await session.existing_instance(args.instance)
    match args.output:
        case "json" | "yaml":
            print(one(as_data(instance), args.output), end="")
        case "table" | "wide" | "name":
            print(_runs(instance, args.output), end="")
        case _:
            print(draw(last_runs(instance)))
            print(runs_table(instance), end="")


def _runs(instance: JsonObject, output: str) -> str:
    """Return the runs that have ended; tell on stderr if there are none."""
    if not records(instance):
        talk(f"No run on record for instance {instance['metadata']['name']}.")
    if output == "name":
        return "".join(f"{run.get('plan')}/{run.get('uid')}\n" for run in records(instance))
    return runs_table(instance, wide=output == "wide")


def as_data(instance: JsonObject) -> JsonObject:
    """Return the entry of each plan, and in its `history` the runs of the plan that have ended."""
    found = {plan: dict(entry) for plan, entry in entries(instance).items()}
    for record in records(instance):
        entry = found.setdefault(str(record.get("plan")), {})
        entry.setdefault("history", []).append(record)
    return found


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
