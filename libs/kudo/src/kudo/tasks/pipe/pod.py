"""The pod of a Pipe task: validation of the template, the pod that runs, and its progress.

The user's init container writes its files into an `emptyDir`. We add the only container, a waiter
that mounts the same volume, so that the files can be read once the init container has succeeded.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from goyaml import Budget, YamlError, load
from kudo.api import JsonObject, names
from kudo.api.redaction import without_quotes
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.pipe.artifacts import path_of

if TYPE_CHECKING:  # worker processes start without the models
    from kudo.api.task_kinds.kind import PipeFileFields

WAITER = "waiter"
MAX_FILES = 100
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_LISTS = ("containers", "initContainers", "volumes")
_PRIVILEGES = ("privileged", "procMount")
"""Privileges that the waiter does not get, whatever the init container has."""


def read_pod(text: str, budget: Budget | None = None) -> JsonObject:
    """Return the pod in the first YAML document of a rendered template.

    Args:
        text: The rendered template.
        budget: What reading it may cost; by default the limits of `goyaml` hold.

    Raises:
        FatalTaskError: it is no v1 Pod; reason ResourceUnmarshalError. The text names what is
            wrong without quoting the document.
    """
    try:
        document = load(text, budget=budget)
    except YamlError as error:
        hint = "; make the pod smaller" if error.limit else ""
        raise _unreadable(f"{without_quotes(str(error))}{hint}", limit=error.limit) from error
    if not isinstance(document, dict):
        raise _unreadable("a Kubernetes object must be a mapping")
    kind = f"{document.get('apiVersion')}, Kind={document.get('kind')}"
    if kind != "v1, Kind=Pod":
        raise _unreadable(f"it must be of v1, Kind=Pod and not of {kind}")
    for problem in _shape_problems(document):
        raise _unreadable(problem)
    return document


def _shape_problems(pod: JsonObject) -> Iterator[str]:
    """Yield fields that do not have the type that a pod needs."""
    for field in ("metadata", "spec"):
        if not isinstance(pod.get(field) or {}, dict):
            yield f"{field} is no mapping"
            return
    annotations = _metadata(pod).get("annotations") or {}
    if not isinstance(annotations, dict):
        yield "metadata.annotations is not a mapping"
    spec = _spec(pod)
    if not isinstance(spec.get("securityContext") or {}, dict):
        yield "spec.securityContext is not a mapping"
    for field in _LISTS:
        if not _is_list_of_mappings(spec.get(field) or []):
            yield f"spec.{field} is not a list of mappings"
            return
    for container in spec.get("initContainers") or ():
        if not isinstance(container.get("securityContext") or {}, dict):
            yield "spec.initContainers[].securityContext is not a mapping"
        mounts = container.get("volumeMounts") or []
        texts = (mount.get("mountPath") for mount in mounts if isinstance(mount, dict))
        if not _is_list_of_mappings(mounts) or not all(isinstance(text, str) for text in texts):
            yield "spec.initContainers[].volumeMounts is not a list of mounts"


def _is_list_of_mappings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _unreadable(problem: str, *, limit: str = "") -> FatalTaskError:
    text = f"pipe pod cannot be read: {problem}"
    return FatalTaskError("ResourceUnmarshalError", text, limit=limit)


def validate(pod: JsonObject, files: Iterable["PipeFileFields"]) -> Iterator[str]:
    """Yield what prevents this pod from producing the files.

    Args:
        pod: As `read_pod` returns it.
        files: What is to be copied from it.
    """
    files = tuple(files)
    spec = _spec(pod)
    if spec.get("containers"):
        yield (
            "pipe pod should not have containers. pipe artifacts are generated in the init "
            "container"
        )
    if len(spec.get("initContainers") or ()) != 1:
        yield "pipe pod should define one init container that generated artifacts defined"
    if any(
        container.get("restartPolicy") == "Always" for container in spec.get("initContainers") or ()
    ):
        yield (
            "pipe pod should have an init container that ends: with restartPolicy Always it never "
            "does"
        )
    if spec.get("restartPolicy") not in (None, "", "OnFailure"):
        yield "pipe pod RestartPolicy should be OnFailure"
    if len(files) > MAX_FILES:
        yield f"pipe task names {len(files)} files; at most {MAX_FILES} are copied"
    yield from _place_problems(spec, files)


def _place_problems(spec: JsonObject, files: tuple["PipeFileFields", ...]) -> Iterator[str]:
    volumes = _shared_volumes(spec)
    if len(volumes) != 1:
        yield (
            "pipe pod should define one emptyDir shared volume where the artifacts are "
            "temporary stored"
        )
        return
    mount = _mount_path(spec, volumes[0])
    if mount is None:
        if spec.get("initContainers"):
            yield f"pipe pod should save generated artifacts in {volumes[0]}"
        return
    for file in files:
        yield from _path_problems(file, mount)


def _path_problems(file: "PipeFileFields", mount: str) -> Iterator[str]:
    path = path_of(file)
    below = _below(path, mount)
    if below is None or below.startswith("."):
        hidden = below is not None and below != "." and not below.startswith("..")
        reason = ": a name that begins with a dot is not taken" if hidden else ""
        yield f"pipe file {path} should be a child of {mount} mount path{reason}"
        return
    key = posixpath.basename(below)
    if file.file and (not _KEY.fullmatch(key) or key.startswith("..")):
        yield (
            f"pipe file {path} cannot be a key of a {file.kind}: its name may hold letters, "
            "digits, '-', '_' and '.', and may not begin with '..'"
        )


def _below(path: str, mount: str) -> str | None:
    """Return the path relative to the mount; None if one is relative and the other is not."""
    if posixpath.isabs(path) != posixpath.isabs(mount):
        return None
    path, mount = posixpath.normpath(path), posixpath.normpath(mount)
    if path.startswith(".."):
        return path
    return posixpath.relpath(*("/" + each.lstrip("/") for each in (path, mount)))


def waiter_pod(pod: JsonObject, name: str, image: str) -> JsonObject:
    """Return the pod to run for a valid pipe pod; `pod` stays as it is.

    The waiter has the security context of the init container, so that it is let in where that is
    and can read what that has written, but no privilege beyond.

    Args:
        pod: The user's pod, without problems.
        name: Its name from now on.
        image: The waiter's, with `sh`, `sleep`, `stat` and `cat`.
    """
    metadata, spec = _metadata(pod), _spec(pod)
    annotations = {**(metadata.get("annotations") or {}), names.ANNOTATION_PIPE_POD: "true"}
    volume = _shared_volumes(spec)[0]
    waiter = {
        "name": WAITER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c"],
        "args": ["sleep infinity"],
        "securityContext": _security_context(spec),
        "volumeMounts": [{"name": volume, "mountPath": _mount_path(spec, volume)}],
    }
    return {
        **pod,
        "metadata": {**metadata, "name": name, "annotations": annotations},
        "spec": {**spec, "restartPolicy": "OnFailure", "containers": [waiter]},
    }


def _security_context(spec: JsonObject) -> JsonObject:
    given = spec["initContainers"][0].get("securityContext") or {}
    context = {key: value for key, value in given.items() if key not in _PRIVILEGES}
    capabilities = context.get("capabilities")
    if isinstance(capabilities, dict):
        context["capabilities"] = {k: v for k, v in capabilities.items() if k != "add"}
    user = context.get("runAsUser", (spec.get("securityContext") or {}).get("runAsUser"))
    if user is None:
        # The user may come from the image of the init container; the waiter's has none.
        context.pop("runAsNonRoot", None)
    return {**context, "allowPrivilegeEscalation": False}


def is_pipe_pod(pod: JsonObject) -> bool:
    """Return whether an object of the cluster is the pod of a Pipe task."""
    annotations = pod["metadata"].get("annotations") or {}
    return annotations.get(names.ANNOTATION_PIPE_POD) == "true"


def _shared_volumes(spec: JsonObject) -> list[str]:
    volumes = spec.get("volumes") or ()
    return [str(volume.get("name")) for volume in volumes if volume.get("emptyDir") is not None]


def _mount_path(spec: JsonObject, volume: str) -> str | None:
    """Return where the init container has the volume."""
    for container in spec.get("initContainers") or ():
        for mount in container.get("volumeMounts") or ():
            if mount.get("name") == volume:
                return str(mount.get("mountPath"))
    return None


def _metadata(pod: JsonObject) -> JsonObject:
    return pod.get("metadata") or {}


def _spec(pod: JsonObject) -> JsonObject:
    return pod.get("spec") or {}


def has_ended(pod: JsonObject) -> bool:
    """Return whether nothing runs in the pod any more, so that no file can be read from it."""
    return (pod.get("status") or {}).get("phase") in {"Failed", "Succeeded"}


def waits_for(pod: JsonObject) -> str:
    """Return why the files cannot be read yet; empty if they can.

    A pod that runs and is ready has all its files: the waiter starts when the init container has
    succeeded. One that fails is started again for ever, so its last end is told, without counts:
    each change of the text is a write of a status.
    """
    # Imported here: worker processes read pods and never wait for one.
    from kudo.objects.health import cause_of, health_of

    health = health_of(pod)
    if health.healthy:
        return ""
    cause = cause_of(pod, (), patient=False)
    advice = "" if cause is None else cause.text
    return "; ".join(filter(None, (health.message, _last_end(pod), advice)))


def _last_end(pod: JsonObject) -> str:
    """Return how the first init container that failed ended the last time; empty if none did."""
    for container in (pod.get("status") or {}).get("initContainerStatuses") or ():
        # While it is started again, `state` is waiting, and its end stands in `lastState`.
        states = (container.get("state") or {}, container.get("lastState") or {})
        ended: JsonObject = next(filter(None, (state.get("terminated") for state in states)), {})
        code = ended.get("exitCode")
        if code:
            reason = ended.get("reason") or "Error"
            return f"init container {container.get('name')} ended with exit code {code} ({reason})"
    return ""
