"""Templates: compiling and rendering beside real Go, on manifests of 2 to 6 KB.

Go's text/template with Sprig renders the same manifests with the same data in the same rounds, on
one core, within one process of `tests/golden/oracle`. Both sides look their functions up once.
What counts is CPU time. A figure is the geometric mean of the ratios of the manifests. Garbage
collections are as in the services that render.
"""

import json
import math
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gotemplate import Environment
from serving.program import keep_collections_short
from tests.bench.figures import Figure
from tests.golden.cases.language.manifests import REAL, manifest
from tests.golden.golang import build, has_go

_BATCHES: Final = 5
_CALLS: Final = 100
_GO_CALLS: Final = 300
_RENDER_TARGET: Final = 2
_COMPILE_TARGET: Final = 8


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of CPU of one call: of compiling a manifest, and of rendering it."""

    compile: float
    render: float


def bench(rounds: int) -> list[Figure]:
    """Measure both sides; without Go there is nothing to compare with, and no figure is reached."""
    if not has_go():
        return [Figure("templates beside Go", "needs Go", "Go is not installed", ok=False)]
    keep_collections_short()
    with tempfile.TemporaryDirectory() as directory:
        program = build(Path(directory))
        pairs = [(_ours(), _go(program)) for _ in range(rounds)]
    return [
        _figure("template: rendering, compiled", pairs, "render", _RENDER_TARGET),
        _figure("template: compiling", pairs, "compile", _COMPILE_TARGET),
    ]


def _ours() -> list[Timing]:
    environment = Environment(cache_chars=0)
    return [_measure(environment, name, values) for name, values in REAL.items()]


def _measure(environment: Environment, name: str, values: Mapping[str, Any]) -> Timing:
    text = manifest(name)
    template = environment.parse(name, text)
    return Timing(
        compile=_best(lambda: environment.parse(name, text), _CALLS // 5),
        render=_best(lambda: template.render(values), _CALLS),
    )


def _best(call: Callable[[], object], calls: int) -> float:
    """Give the seconds of CPU of one call, in the fastest of some batches."""
    fastest = math.inf
    for _ in range(_BATCHES):
        began = time.process_time()
        for _ in range(calls):
            call()
        fastest = min(fastest, time.process_time() - began)
    return fastest / calls


def _go(program: Path) -> list[Timing]:
    cases = [
        {"name": name, "text": manifest(name), "data": values} for name, values in REAL.items()
    ]
    answer = subprocess.run(
        [program, "bench", str(_GO_CALLS)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    return [Timing(**timing) for timing in json.loads(answer.stdout)]


def _figure(
    name: str, pairs: Sequence[tuple[list[Timing], list[Timing]]], step: str, target: float
) -> Figure:
    ratios = [_ratio(ours, go, step) for ours, go in pairs]
    median = statistics.median(ratios)
    ours = statistics.median(_mean(mine, step) for mine, _ in pairs) * 1e6
    go = statistics.median(_mean(theirs, step) for _, theirs in pairs) * 1e6
    measured = f"{median:.1f} x Go (min {min(ratios):.1f}); {ours:.0f} µs, Go {go:.0f} µs"
    return Figure(name, f"<= {target} x Go", measured, ok=median <= target)


def _mean(timings: Sequence[Timing], step: str) -> float:
    return statistics.geometric_mean(getattr(timing, step) for timing in timings)


def _ratio(ours: Sequence[Timing], go: Sequence[Timing], step: str) -> float:
    return _mean(ours, step) / _mean(go, step)
