"""The pod of a Job task: the fields of the task over its pod template, restricted by default."""

import posixpath
import re
from collections.abc import Iterable
from typing import Any, Final

from kudo.api import JsonObject
from kudo.tasks.job.texts import RenderedJob

MAIN: Final = "main"
"""The container that runs the program, unless the pod template has none of this name."""
_SHELL: Final = ("/bin/sh", "-c")
_TMP: Final = "/tmp"  # noqa: S108 (in a container)
_TMP_VOLUME: Final = "kudo-tmp"
# Kubernetes replaces $(NAME) in a command by the variable of that name, and makes $ of $$.
_EXPANDED: Final = re.compile(r"\$+(?=\()|\$\$+")


def pod_spec(rendered: RenderedJob) -> JsonObject:
    """Return the spec of the pod; `rendered` stays as it is."""
    job, base = rendered["job"], rendered["pod"]
    spec: JsonObject = dict(base["spec"]) if base else {}
    containers = [dict(container) for container in spec.get("containers") or ()]
    main = next((c for c in containers if c.get("name") == MAIN), None)
    if main is None and containers:
        main = containers[0]
    if main is None:
        main = {"name": MAIN}
        containers.append(main)
    _run(main, rendered)
    spec["containers"] = containers
    spec["restartPolicy"] = "Never"
    if job.get("volumes"):
        spec["volumes"] = _merged(spec.get("volumes"), job["volumes"], "name")
    if job.get("serviceAccountName"):
        spec["serviceAccountName"] = job["serviceAccountName"]
    elif not spec.get("serviceAccountName"):
        # A program that needs no account cannot lose its token.
        spec.setdefault("automountServiceAccountToken", False)
    _restrict(spec)
    return spec


def _run(container: JsonObject, rendered: RenderedJob) -> None:
    """Have a container run the program of the task."""
    job, script = rendered["job"], rendered["script"]
    for field in ("image", "command", "args", "resources"):
        if job.get(field):
            container[field] = job[field]
    if script is not None:
        words = (*_SHELL, _unexpanded(script), job["script"], *(job.get("args") or ()))
        container["command"] = list(words)
        container.pop("args", None)
    if job.get("env"):
        container["env"] = _merged(container.get("env"), job["env"], "name")
    if job.get("mounts"):
        container["volumeMounts"] = _merged(
            container.get("volumeMounts"), job["mounts"], "mountPath"
        )


def _unexpanded(script: str) -> str:
    """Return a script so that the shell gets it as it is: $(date) is for the shell."""
    return _EXPANDED.sub(lambda dollars: dollars[0] * 2, script)


def _merged(base: Any, items: Iterable[JsonObject], key: str) -> list[JsonObject]:
    """Return a list with the items that a key tells apart replaced or added."""
    merged = {str(item.get(key)): item for item in base or ()}
    merged |= {str(item[key]): item for item in items}
    return list(merged.values())


def _restrict(spec: JsonObject) -> None:
    """Add what makes a pod restricted, where its template does not say otherwise."""
    spec["securityContext"] = {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
        **(spec.get("securityContext") or {}),
    }
    volumes = list(spec.get("volumes") or ())
    names = {volume.get("name") for volume in volumes}
    for field in ("initContainers", "containers"):
        containers = [dict(container) for container in spec.get(field) or ()]
        for container in containers:
            # The end of a log would show to all who may read the status.
            container["terminationMessagePolicy"] = "File"
            container["securityContext"] = context = _restricted(container)
            mounts = container.get("volumeMounts") or []
            paths = {posixpath.normpath(str(mount.get("mountPath"))) for mount in mounts}
            if context["readOnlyRootFilesystem"] and _TMP not in paths:
                # One for each container: what one writes there is not for the others.
                name = _free(_TMP_VOLUME, names)
                names.add(name)
                volumes.append({"name": name, "emptyDir": {}})
                container["volumeMounts"] = [*mounts, {"name": name, "mountPath": _TMP}]
        if containers:
            spec[field] = containers
    if volumes:
        spec["volumes"] = volumes


def _restricted(container: JsonObject) -> JsonObject:
    """Return the security context of a container."""
    given = container.get("securityContext") or {}
    context = {"readOnlyRootFilesystem": True, **given}
    context["capabilities"] = {"drop": ["ALL"], **(given.get("capabilities") or {})}
    if not given.get("privileged"):
        # The API server refuses it beside privileged.
        context.setdefault("allowPrivilegeEscalation", False)
    return context


def _free(name: str, names: set[Any]) -> str:
    number, free = 1, name
    while free in names:
        number += 1
        free = f"{name}-{number}"
    return free
