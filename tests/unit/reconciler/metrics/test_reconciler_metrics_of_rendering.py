"""How long a task took to render: told once for each time that it was tried, failures included."""

import pytest

from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from kudo.api import Instance, OperatorVersion, Task
from kudo.api.task_kinds import FatalTaskError, TaskPath
from kudo.plans.execution import StepRef
from kudo_reconciler.events.queue import Severity
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.execution.task_context import RunMemory, TaskContext
from workers import Pool

GOOD = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Name }}"}}'


async def _takes_long(_: str) -> None:
    """Say nothing."""


def untold(_severity: Severity, _reason: str, _message: str) -> None:
    """Write no event."""


def context(template: str, rendered: list[float]) -> TaskContext:
    version = OperatorVersion.from_wire(
        {"metadata": {"name": "v", "namespace": "ns"}, "spec": {"templates": {"a.yaml": template}}}
    )
    instance = Instance.from_wire({"metadata": {"name": "i", "namespace": "ns", "uid": "i"}})
    wire = {"name": "t", "kind": "Apply", "spec": {"resources": ["a.yaml"]}}
    return TaskContext(
        instance=instance,
        version=version,
        uid="u",
        path=TaskPath("ns/i", "deploy", "phase", "step", "t"),
        ref=StepRef(0, 0, "phase", "step"),
        task=Task.from_wire(wire),
        memory=RunMemory("u", "i", "deploy", version, recheck_at=0.0),
        is_current=lambda: True,
        is_suspended=lambda: False,
        takes_long=_takes_long,
        tell=untold,
        renderer=Renderer(Pool("kudo.jobs"), rendered.append),
        outputs={},
        run_parameters={},
        client=Client(ClusterConfig("http://127.0.0.1")),
    )


async def test_rendering_is_measured() -> None:
    rendered: list[float] = []
    manifests = await context(GOOD, rendered).manifests()
    assert manifests[0].object["metadata"]["name"] == "i"
    (seconds,) = rendered
    assert seconds >= 0


async def test_a_template_that_cannot_be_rendered_is_measured_as_well() -> None:
    rendered: list[float] = []
    with pytest.raises(FatalTaskError):
        await context("{{ .Params.Nowhere.Deeper }}\n{{ end }}", rendered).manifests()
    assert len(rendered) == 1
