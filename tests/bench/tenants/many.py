"""Very many small things in one Instance: what they cost others, and the memory afterwards.

Each input is sent as all others are, see `tests.bench.tenants.tenants`; those that end with
COMPLETE are as large as the bounds allow (`kudo.api.bounds`).
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kudo.api import bounds
from tests.bench.figures import Figure
from tests.bench.tenants.table import ratio_of, reconciler_cpu
from tests.bench.tenants.tenants import Row, Tenants
from tests.support import build
from tests.support.build import Json
from tests.support.hostile import INSTANCE, VERSION, End, Input

_MIB: Final = 2**20
_ROUNDS: Final = 3
_MAX_CPU: Final = 0.050
_MAX_RATIO: Final = 1.5
_BACK_SECONDS: Final = 60.0
_MAX_GROWTH: Final = 32 * _MIB
"""For caches of connections, kinds and templates, which are bounded by themselves."""
_MAP: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-{{ $i }}}\ndata: {a: b}\n"


@dataclass(frozen=True, slots=True)
class Many:
    """What was measured of one input.

    Attributes:
        row: What it and others had.
        before, after: Resident bytes of the reconciler, right before it and a minute after its end.
    """

    row: Row
    before: int
    after: int


async def measure_many(tenants: Tenants) -> list[Figure]:
    """Send all inputs, one after the other."""
    # The first of a kind and the first worker process are no growth.
    await tenants.run(_objects("a first one", 10, 1, End.DONE), others=False)
    return [figure for sent in _inputs() for figure in _figures(await _measure(tenants, sent))]


async def _measure(tenants: Tenants, sent: Input) -> Many:
    before = _bytes(tenants)
    row = await tenants.measure(sent, _ROUNDS)
    await asyncio.sleep(_BACK_SECONDS)
    return Many(row, before, _bytes(tenants))


def _bytes(tenants: Tenants) -> int:
    """Return what the process itself has resident: its workers have limits of their own."""
    process = tenants.installation.reconciler.process
    assert process is not None
    status = Path(f"/proc/{process.pid}/status").read_text("ascii")
    (kib,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kib) * 1024


def _inputs() -> Iterator[Input]:
    task, whole = bounds.TASK_OBJECTS, bounds.INSTANCE_OBJECTS
    yield _objects(f"{task + 1:,} objects in a task", task + 1, 1, End.FAILED, f"{task:,}")
    yield _objects("20,000 objects in a plan", task, 10, End.FAILED, f"{whole:,}")
    yield _objects(f"{whole:,} objects in a plan, right", whole // 4, 4, End.DONE)
    yield _steps("5,000 parallel steps", 5000, End.DENIED, "create a version with fewer")
    steps = bounds.PLAN_STEPS
    yield _steps(f"{steps} parallel steps, right", steps, End.DONE)
    each = bounds.STEP_TASKS_IN_ALL // steps
    yield _steps(f"{steps} parallel steps of {each} tasks, right", steps, End.DONE, each=each)


def _objects(name: str, each: int, tasks: int, end: End, *says: str) -> Input:
    """Return an input whose parallel steps apply small ConfigMaps."""
    names = [f"t{number}" for number in range(tasks)]
    templates = {
        f"{one}.yaml": f"{{{{ range $i := until {each} }}}}\n---\n{_MAP % one}{{{{ end }}}}"
        for one in names
    }
    made = [build.task(one, "Apply", f"{one}.yaml") for one in names]
    steps = [{"name": one, "tasks": [one]} for one in names]
    return _input(name, _version(templates, made, steps), end, *says)


def _steps(name: str, count: int, end: End, *says: str, each: int = 1) -> Input:
    """Return an input with parallel steps that do nothing, in phases as long as one may be."""
    made = [build.task(f"t{number}", "Dummy", done=True) for number in range(each)]
    names = [task["name"] for task in made]
    steps = [{"name": f"s{number}", "tasks": names} for number in range(count)]
    return _input(name, _version({}, made, steps), end, *says)


def _version(templates: dict[str, str], tasks: list[Json], steps: list[Json]) -> Json:
    phases = [
        {"name": f"p{start}", "strategy": "parallel", "steps": steps[start : start + bounds.STEPS]}
        for start in range(0, len(steps), bounds.STEPS)
    ]
    plans = {"deploy": {"strategy": "parallel", "phases": phases}}
    return build.operator_version(VERSION, templates=templates, tasks=tasks, plans=plans)


def _input(name: str, version: Json, end: End, *says: str) -> Input:
    instance = build.instance(INSTANCE, VERSION)
    return Input("very many small things", name, version, lambda _: instance, end, says)


def _figures(found: Many) -> Iterator[Figure]:
    row = found.row
    name, cpu, ratio = str(row.sent), reconciler_cpu(row), ratio_of(row, row.alone.deploys)
    grown = found.after - found.before
    ended = "; ".join(row.problems) or str(row.sent.end)
    yield Figure(f"hostile: {name}", str(row.sent.end), ended, not row.problems)
    yield Figure(
        f"hostile: {name}: longest turn of the reconciler, CPU",
        f"<= {_MAX_CPU * 1e3:.0f} ms", f"{cpu * 1e3:.0f} ms", cpu <= _MAX_CPU,
    )  # fmt: skip
    yield Figure(
        f"hostile: {name}: deploys of others, median of {_ROUNDS}, over those alone",
        f"<= {_MAX_RATIO} x", f"{ratio:.2f} x", ratio <= _MAX_RATIO,
    )  # fmt: skip
    yield Figure(
        f"hostile: {name}: memory of the reconciler after {_BACK_SECONDS:.0f} s",
        f"<= {_MAX_GROWTH // _MIB} MiB more",
        f"{found.before / _MIB:.0f}, then {found.after / _MIB:.0f} MiB", grown <= _MAX_GROWTH,
    )  # fmt: skip
