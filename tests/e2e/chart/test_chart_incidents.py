"""What goes wrong in clusters, made to happen: `plan status` and `why` name cause and next command.

The texts are compared by `tests/unit/cli/diagnostics`; this shows that a kubelet, an API server and
controllers say what those tests take them to say. The screens are in `.kudo/incidents` afterwards.
"""

import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from kudo.api.names import API_VERSION
from tests.e2e.chart.plans import apply
from tests.e2e.chart.release import Component, Release
from tests.e2e.objects import container, job, stateful_set
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tests.support.terminals.screen import Screen
from tests.support.terminals.terminal import on_terminal
from tools.images.version import ROOT

pytestmark = pytest.mark.campaign

SCREENS = ROOT / ".kudo" / "incidents"
COLUMNS = 80
_SECONDS = 180.0
_HELD = "example.com/hold"
_TRIGGER = '--patch={"spec":{"planExecution":{"planName":"deploy"}}}'


@dataclass
class Scene:
    """An Instance `tea` in a namespace of its own, and what shows how it is."""

    world: World
    release: Release
    inside: Kubectl
    afterwards: AsyncExitStack

    async def install(self, *objects: Json, **spec: object) -> None:
        templates = {f"{n}.yaml": build.template(obj) for n, obj in enumerate(objects)}
        plans = {"deploy": build.plan({"app": [str(n) for n in range(len(objects))]})}
        version = build.operator_version(
            "teapot",
            **{"templates": templates, "plans": plans, **spec},  # type: ignore[arg-type]
        )
        operator = {"apiVersion": API_VERSION, "kind": "Operator", "metadata": {"name": "op"}}
        await apply(self.world, operator, version, build.instance("tea", "teapot"))

    def shown(self, *words: str) -> str:
        """Return what a command shows on a terminal of 80 columns."""
        command = [
            str(Path(sys.executable).with_name("kubectl-kudo")),
            *words,
            f"--kubeconfig={self.release.site.cluster.kubeconfig('admin')}",
            f"--namespace={self.world.namespace}",
        ]
        screen = Screen(COLUMNS, 60)
        with on_terminal(command, size=(COLUMNS, 60), environment=os.environ) as terminal:
            while text := terminal.read():
                screen.feed(text)
            terminal.end()
        return "\n".join(screen.lines)

    def without(self, component: Component) -> None:
        """Take all pods of a service away until the scene ends."""
        self.release.scale(component, 0)
        self.afterwards.callback(self.release.settle)


Happens = Callable[[Scene], Awaitable[None]]


def workload(**fields: object) -> Json:
    """Return Deployment `tea` of one pod, whose container has these fields, too."""
    found = build.deployment("tea")
    main = {**container("sleep", "3600"), **fields}
    found["spec"]["template"]["spec"] = {"terminationGracePeriodSeconds": 1, "containers": [main]}
    return found


async def hang(scene: Scene) -> None:
    probe = {"exec": {"command": ["cat", "/missing"]}, "periodSeconds": 1}
    await scene.install(workload(readinessProbe=probe))


async def pull(scene: Scene) -> None:
    await scene.install(workload(image="brew:9"))


async def crash(scene: Scene) -> None:
    await scene.install(workload(command=["sh", "-c", "echo no water; exit 3"]))


async def run_out_of_memory(scene: Scene) -> None:
    limits = {"limits": {"memory": "16Mi"}}
    await scene.install(workload(command=["tail", "/dev/zero"], resources=limits))


async def fail_job(scene: Scene) -> None:
    await scene.install(job("boil", ["sh", "-c", "echo no water; exit 3"]))


async def exceed_quota(scene: Scene) -> None:
    scene.inside("create", "quota", "q", "--hard=pods=0")
    await scene.install(stateful_set("tea", "tea", "sleep", "3600", ready=True))


async def lack_right(scene: Scene) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pot"}, "spec": {}}
    await scene.install(quota)


async def settled(scene: Scene) -> None:
    await scene.install(build.config_map("pot"))
    await scene.world.until_complete("tea")


async def stop_webhook(scene: Scene) -> None:
    await settled(scene)
    scene.without("webhook")


async def stop_reconciler(scene: Scene) -> None:
    await settled(scene)
    scene.without("reconciler")
    scene.inside("patch", "instances.kudo.dev", "tea", "--type=merge", _TRIGGER)


async def delete_object(scene: Scene) -> None:
    await settled(scene)
    scene.inside("delete", "configmap", "pot")


async def set_bad_value(scene: Scene) -> None:
    many = build.deployment("tea", replicas="{{ .Params.CUPS }}")
    await scene.install(many, parameters=[build.parameter("CUPS", "many")])


async def remove_version(scene: Scene) -> None:
    scene.without("reconciler")
    await scene.install(build.config_map("pot"))
    scene.inside("delete", "operatorversions.kudo.dev", "teapot")
    scene.release.settle()


async def hold_instance(scene: Scene) -> None:
    await settled(scene)
    scene.inside("patch", "instances.kudo.dev", "tea", "--type=merge", held(_HELD))
    scene.afterwards.callback(
        scene.inside, "patch", "instances.kudo.dev", "tea", "--type=merge", held()
    )
    scene.inside("delete", "instances.kudo.dev", "tea", "--wait=false")


async def hold_object(scene: Scene) -> None:
    scene.inside("create", "configmap", "pot")
    scene.inside("patch", "configmap", "pot", "--type=merge", held(_HELD))
    scene.afterwards.callback(scene.inside, "patch", "configmap", "pot", "--type=merge", held())
    delete = build.task("delete", "Delete", "pot.yaml")
    await scene.install(
        templates={"pot.yaml": build.template(build.config_map("pot"))},
        plans={"deploy": build.plan({"app": ["delete"]})},
        tasks=[delete],
    )


def held(*finalizers: str) -> str:
    named = ",".join(f'"{name}"' for name in finalizers)
    return f'--patch={{"metadata":{{"finalizers":[{named}]}}}}'


INCIDENTS: dict[Happens, tuple[str, str]] = {
    hang: ("its readiness probe", "kubectl describe pod tea-"),
    pull: ("ImagePullBackOff", "kubectl describe pod tea-"),
    crash: ("CrashLoopBackOff", "--previous"),
    run_out_of_memory: ("OOMKilled", "kubectl describe pod tea-"),
    fail_job: ("container main ended with Error (3)", "kubectl logs boil-"),
    exceed_quota: ("exceeded quota: q", "kubectl describe quota"),
    lack_right: ("is forbidden", "kubectl kudo rbac --instance tea"),
    stop_webhook: ("service kudo-webhook: has no ready endpoint", "kubectl get pods"),
    stop_reconciler: ("no reconciler leads", "kubectl get pods"),
    delete_object: ("configmap pot: does not exist", "kubectl kudo plan trigger"),
    set_bad_value: ("replicas", "kubectl kudo update --instance tea"),
    remove_version: ("OperatorVersion teapot was not", "kubectl kudo install"),
    hold_instance: (_HELD, "kubectl get instances.kudo.dev tea"),
    hold_object: (_HELD, "kubectl get configmap pot"),
}
"""What happens; the cause that `why` names, and the command that it tells to run."""


@pytest.mark.parametrize("happens", INCIDENTS, ids=lambda happens: happens.__name__)
async def test_why_names_the_cause_first_and_the_next_command(
    happens: Happens, world: World, inside: Kubectl, release: Release
) -> None:
    cause, command = INCIDENTS[happens]
    said = ""
    async with AsyncExitStack() as afterwards:
        scene = Scene(world, release, inside, afterwards)
        await happens(scene)

        async def told() -> bool:
            nonlocal said
            said = scene.shown("why", "tea")
            _, _, rest = " ".join(said.split()).partition(" Cause: ")
            first = rest.partition(" Also: ")[0]
            return cause in first and command in first.partition(" Run: ")[2]

        await wait_until(told, lambda: f"why to name {cause!r}; it says:\n{said}", _SECONDS)
        status = scene.shown("plan", "status", "tea")
    SCREENS.mkdir(parents=True, exist_ok=True)
    shown = f"$ kubectl kudo plan status tea\n{status}\n\n$ kubectl kudo why tea\n{said}\n"
    (SCREENS / f"{happens.__name__}.txt").write_text(shown, encoding="utf-8")
