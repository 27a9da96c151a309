"""What the reconciler reports of each namespace, and that docs/operating.md has it as it is."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import yaml

from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kudo_reconciler.app import App
from kudo_reconciler.common.concurrency import USUAL, Fairness, fairness_options
from kudo_reconciler.common.keys import Key
from kudo_reconciler.execution.operations import Operation, Operations
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.settings import Settings
from kudo_reconciler.wiring import Environment
from serving.namespaces import Measure, as_text, report
from serving.settings import Share
from serving.worker_pool import WorkerUsage, worker_options
from tests.support.pools import until
from tests.support.world.lease import Candidate
from tests.support.world.replica import InPlace
from workers import Pool

ROOT = Path(__file__).resolve().parents[3]
OPERATING = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
_LINE = re.compile(r"(\w+): (\S+) in (\d+) namespaces")
_OWN_OPTION = re.compile(r"`--(namespace-[a-z-]+)`")


def app(fairness: Fairness = USUAL) -> App:
    settings = replace(Settings.read([], {}), fairness=fairness)
    client = Client(ClusterConfig(server="http://127.0.0.1:1"))
    environment = Environment(client, Candidate(), InPlace(), Metrics(), rng=Random(1))
    return App(settings, environment)


def values(measures: list[Measure]) -> dict[str, dict[str, float]]:
    return {one.name: {k: v for k, v in one.read().items() if v} for one in measures}


async def test_instances_are_counted_by_namespace_and_state() -> None:
    made = app(Fairness(workers=1))
    for namespace in ("a", "a", "a", "b"):
        made.queue.add(Key(namespace, f"i{len(made.queue)}"))
    await made.queue.get()
    await made.queue.get()
    found = values(made.measures())
    # One of `a` at a time, though workers are free.
    assert found["instances_reconciling"] == {"a": 1, "b": 1}
    assert found["instances_queued"] == {"a": 2}
    assert found["events_waiting"] == found["operations_running"] == {}


async def test_operations_are_counted_by_namespace_and_state() -> None:
    fairness = Fairness(operations=Share(3, 1), long_operations=Share(2, 1))
    operations, end = Operations.within(fairness, lambda _: None), asyncio.Event()

    async def work(_: Operation[None]) -> None:
        await end.wait()

    async def long_work(operation: Operation[None]) -> None:
        await operation.takes_long("copying")
        await end.wait()

    for namespace in ("a", "a", "b"):
        operations.start(Key(namespace, "i"), work)
    for _ in range(2):
        operations.start(Key("c", "i"), long_work)
    await until(lambda: values(operations.measures())["long_operations_waiting"] == {"c": 1})
    assert values(operations.measures()) == {
        "operations_running": {"a": 1, "b": 1},
        "operations_waiting": {"a": 1},
        "long_operations_running": {"c": 1},
        "long_operations_waiting": {"c": 1},
    }
    end.set()
    await operations.ended()
    assert not any(values(operations.measures()).values())


@pytest.fixture
def example() -> str:
    """Return the example of docs/operating.md."""
    section = OPERATING.split("\n## Finding a noisy namespace\n")[1].split("\n## ")[0]
    [found] = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    return str(found)


def shown(example: str) -> Iterator[Measure]:
    """Yield the measures that the example shows."""
    for block in re.split(r"\n(?=\w)", example)[1:]:
        first, *rest = block.splitlines()
        name = _LINE.fullmatch(first)
        assert name is not None, first
        found = {line.split()[1]: float(line.split()[0]) for line in rest}
        yield Measure(name[1], lambda found=found: found)  # type: ignore[misc]


async def test_the_example_of_the_docs_is_what_the_endpoint_answers(example: str) -> None:
    uptime = re.search(r"since the start, (\d+) s ago", example)
    assert uptime is not None
    assert as_text(report(shown(example), float(uptime[1]))) == example
    every = [*app().measures(), *WorkerUsage().measures(Pool("kudo.jobs"))]
    assert [one.name for one in shown(example)] == [one.name for one in every]


def test_every_measure_is_explained() -> None:
    section = OPERATING.split("\n## Finding a noisy namespace\n")[1].split("\n## ")[0]
    explained = re.findall(r"^\| `([a-z_]+)`", section, re.MULTILINE)
    every = [*Operations(lambda _: None).measures(), *WorkerUsage().measures(Pool("kudo.jobs"))]
    assert {one.name for one in every} < set(explained)
    assert len(explained) == len(set(explained)) == 12


def amount(number: object) -> str:
    """Return a number as the docs have it: memory in MiB."""
    assert isinstance(number, int)
    return f"{number >> 20}Mi" if number >= 1 << 20 else f"{number}"


def test_every_limit_has_a_row_with_its_default_and_its_value() -> None:
    section = OPERATING.split("\n### What one namespace may take\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "`--" in line]
    options = {one.flag: one for one in (*fairness_options("X_"), *worker_options("X_"))}
    fairness = yaml.safe_load((ROOT / "charts/kudo/values.yaml").read_text())["reconciler"][
        "fairness"
    ]
    keys = set[str]()
    for row in rows:
        flag = _OWN_OPTION.findall(row)[0]
        own, total = options[f"--{flag}"], options.get(f"--{flag.removeprefix('namespace-')}")
        key = re.findall(r"`fairness\.(\w+)`", row)[0]
        keys.add(key)
        # The services alone have defaults.
        assert fairness[key] in (None, {"total": None, "namespace": None})
        if fairness[key] is None:
            assert own.default is None
        else:
            assert total is not None
            assert f"| {amount(total.default)} / {amount(own.default)} |" in row
    assert keys == set(fairness)
    assert len(rows) == len([flag for flag in options if "--namespace" in flag])
