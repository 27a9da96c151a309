"""Every way in which a Pipe task ends a plan: the event, the words, and no pod that stays."""

from collections.abc import Callable

import pytest

from tests.integration.pipe.pipes import POD, PODS, Pipes, entry_of
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.events import event_text, reasons
from tests.support.cluster.resources import CONFIG_MAPS

MEBIBYTE = 1048576
PREFIX = "Error during execution: fatal error: {}/i failed in deploy.phase1.make.pipe: "

Case = Callable[[Pipes], tuple[list[Json], Json | str | None, str]]
"""Returns the files of the task, the template of its pod, and what is told."""


def of_pod(change: Callable[[Json], object], text: str, path: str = "a") -> Case:
    """Return a case with a pod that is changed."""

    def case(pipes: Pipes) -> tuple[list[Json], Json, str]:
        pod = pipes.pod()
        change(pod["spec"])
        told = text.format(folder=pipes.folder)
        return [entry_of(pipes.path(path), "a")], pod, told

    return case


VALIDATION: dict[str, Case] = {
    "containers": of_pod(
        lambda spec: spec.update(containers=[{"name": "c", "image": "busybox"}]),
        "pipe pod should not have containers. pipe artifacts are generated in the init container",
    ),
    "no init container": of_pod(
        lambda spec: spec.update(initContainers=[]),
        "pipe pod should define one init container that generated artifacts defined",
    ),
    "another restartPolicy": of_pod(
        lambda spec: spec.update(restartPolicy="Never"),
        "pipe pod RestartPolicy should be OnFailure",
    ),
    "no shared volume": of_pod(
        lambda spec: spec.update(volumes=[]),
        "pipe pod should define one emptyDir shared volume where the artifacts are temporary "
        "stored",
    ),
    "a volume that is not mounted": of_pod(
        lambda spec: spec["initContainers"][0].update(volumeMounts=[]),
        "pipe pod should save generated artifacts in shared",
    ),
    "a file elsewhere": of_pod(
        dict,
        "pipe file {folder}/../a should be a child of {folder} mount path",
        path="../a",
    ),
}


@pytest.mark.parametrize("case", VALIDATION)
async def test_a_pod_that_cannot_hand_files_on_ends_the_plan(pipes: Pipes, case: str) -> None:
    files, pod, text = VALIDATION[case](pipes)
    await pipes.install(*files, pod=pod)
    await ended_with(pipes, "ResourceValidationError", text)
    assert await pipes.world.find(PODS, POD) is None


@pytest.mark.parametrize(
    ("pod", "reason", "text"),
    [
        (
            "kind: Pod",
            "ResourceUnmarshalError",
            "pipe pod cannot be read: it must be of v1, Kind=Pod and not of None, Kind=Pod",
        ),
        (
            "{{ .Params.NONE }}",
            "TaskRenderingError",
            "error expanding template pod.yaml: error rendering template: template: pod.yaml:1:10",
        ),
    ],
)
async def test_a_template_that_gives_no_pod_ends_the_plan(
    pipes: Pipes, pod: str, reason: str, text: str
) -> None:
    await pipes.install(entry_of(pipes.path("a"), "a"), pod=pod)
    await ended_with(pipes, reason, text)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("k", "k"), "duplicated pipe key k"),
        (
            ("a-b", "ab"),
            (
                "pipe key a-b of deploy.phase1.make.pipe and pipe key ab of "
                "deploy.phase1.make.pipe would both be ConfigMap i.deploy.phase1.make.pipe.ab; "
                "rename one of them"
            ),
        ),
        (("-",), "pipe key - of deploy.phase1.make.pipe has no letter or digit"),
    ],
)
async def test_artifacts_without_names_of_their_own_end_the_plan_before_anything_is_sent(
    pipes: Pipes, keys: tuple[str, ...], text: str
) -> None:
    path = pipes.file("a", b"x")
    await pipes.install(*(entry_of(path, key) for key in keys))
    failed = await pipes.world.until_failed("i")
    message = instances.messages(failed, "deploy")
    assert message.startswith(f"could not make task pipes: {text}"), message
    assert await event_text(pipes.world, "InvalidPlan") == message
    assert await pipes.world.find(PODS, POD) is None


def too_large(pipes: Pipes) -> tuple[list[Json], None, str]:
    path = pipes.file("big", bytes(MEBIBYTE + 1))
    small = entry_of(pipes.file("small", b"x"), "small")
    text = f"pipe file {path} size 1048577 exceeds maximum file size of 1048576 bytes"
    return [small, entry_of(path, "big")], None, text


def too_many_bytes(pipes: Pipes) -> tuple[list[Json], None, str]:
    path = pipes.file("big", bytes(MEBIBYTE))
    files = [entry_of(path, f"key{number}") for number in range(17)]
    return files, None, "the pipe files have 17825792 bytes in all, which exceeds the maximum of"


def folder(pipes: Pipes) -> tuple[list[Json], None, str]:
    pipes.file("folder/file", b"x")
    path = pipes.path("folder")
    return [entry_of(path, "a")], None, f"pipe file {path} is a directory, not a regular file"


def link(pipes: Pipes) -> tuple[list[Json], None, str]:
    pipes.file("file", b"x")
    path = pipes.folder / "link"
    path.symlink_to(pipes.folder / "file")
    text = f"pipe file {path} is a symbolic link, not a regular file"
    return [entry_of(str(path), "a")], None, text


def bad_env_file(pipes: Pipes) -> tuple[list[Json], None, str]:
    path = pipes.file("env", b"A=1\nPASSWORD\n")
    text = f"pipe env file {path} cannot be read: line 2 has no '='; write KEY=VALUE"
    return [entry_of(path, "a", "Secret", env=True)], None, text


COPYING: dict[str, Case] = {
    "a file that is too large": too_large,
    "too many bytes": too_many_bytes,
    "a folder": folder,
    "a link": link,
    "an env file that cannot be read": bad_env_file,
}


@pytest.mark.parametrize("case", COPYING)
async def test_files_that_cannot_be_handed_on_end_the_plan_and_the_pod_goes(
    pipes: Pipes, case: str
) -> None:
    files, pod, text = COPYING[case](pipes)
    await pipes.install(*files, pod=pod)
    await ended_with(pipes, "PipeTaskError", text)
    await pipes.world.until_gone(PODS, POD)
    names = {one["metadata"]["name"] for one in await pipes.world.all(CONFIG_MAPS)}
    assert not any(name.startswith("i.deploy") for name in names), "no file alone is handed on"


async def ended_with(pipes: Pipes, reason: str, text: str) -> None:
    failed = await pipes.world.until_failed("i")
    message = instances.messages(failed, "deploy")
    assert message.startswith(PREFIX.format(pipes.world.namespace) + text), message
    assert await event_text(pipes.world, reason) == message
    assert await reasons(pipes.world) == ["PlanStarted", reason, "PlanFinished"]


async def test_a_pod_of_somebody_else_is_not_touched(pipes: Pipes) -> None:
    pod = pipes.pod()
    pod["metadata"] = {"name": POD, "namespace": pipes.world.namespace}
    pod["spec"]["containers"] = [{"name": "c", "image": "busybox"}]
    await pipes.admin.create(PODS, pod)
    await pipes.install(entry_of(pipes.file("a", b"x"), "a"))
    text = f"pod {pipes.world.namespace}/{POD} exists and does not belong to this Instance"
    await ended_with(pipes, "PipeTaskError", text)
    assert len(await pipes.pods()) == 1


async def test_a_pod_that_the_api_server_refuses_ends_the_plan(pipes: Pipes) -> None:
    pod = pipes.pod()
    pod["spec"]["initContainers"][0]["image"] = ""
    await pipes.install(entry_of(pipes.path("a"), "a"), pod=build.template(pod))
    failed = await pipes.world.until_failed("i")
    assert "failed to apply Pod" in instances.messages(failed, "deploy")
    assert "spec.initContainers[0].image: Required value" in instances.messages(failed, "deploy")
