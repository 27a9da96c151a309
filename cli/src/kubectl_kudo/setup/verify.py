"""`kubectl kudo init --verify`: compares what is installed with the manifests; changes nothing.

Also checks that the services work, which `kubectl kudo init --wait` waits for.
"""

from collections.abc import Iterator
from typing import Any, Final

from kubectl_kudo.session.errors import CliError, ExitCode, describe
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, say
from kubectl_kudo.setup.checks import helm_release, in_other_namespaces, other_certificate
from kubectl_kudo.setup.cluster import RECONCILER, WEBHOOK, find, kind_of, named, until
from kubectl_kudo.setup.manifests import read_manifests
from kubectl_kudo.setup.options import Options
from kubectl_kudo.setup.original import find_original
from kubeio.client import Client
from kubeio.errors import ApiError, KubeError
from kubeio.resource import CRDS, DEPLOYMENTS, PODS
from kudo.api.names import API_VERSION

_HOOK: Final = "instance-admission.kudo.dev"
_TRIED: Final = "kudo-verify-no-such-version"


async def verify(client: Client, options: Options, *, wait: bool) -> None:
    """Print that the installation matches the manifests and works.

    Raises:
        CliError: it does not; the text lists what is wrong. Or KUDO was installed otherwise, with
            objects that differ from these manifests without being wrong.
    """
    release = await helm_release(client, options.namespace)
    if release is not None:
        test = f"helm test {release.name} --namespace={release.namespace}"
        raise CliError(f"KUDO was installed by Helm, as release {release.name}: `{test}` checks it")
    others = await in_other_namespaces(client, options.namespace)
    if others:
        raise CliError(others[0])

    async def problem() -> str:
        return "\n  ".join(await _problems(client, options))

    left = await (until(problem, options.wait_seconds) if wait else problem())
    if left:
        raise CliError(f"KUDO installation is not valid:\n  {left}", code=ExitCode.INVALID)
    say(f"✅ KUDO is installed in namespace {options.namespace} as it should be, and works")


async def _problems(client: Client, options: Options) -> list[str]:
    other = await other_certificate(client, options)
    if other:
        return [other]
    problems: list[str] = []
    for desired in read_manifests(options).all():
        kind, metadata = kind_of(desired), desired["metadata"]
        name = named(kind, metadata["name"])
        live = await find(client, kind, metadata["name"], metadata.get("namespace"))
        unserved = await not_established(client, metadata["name"]) if kind == CRDS else ""
        if unserved:
            problems.append(unserved)
        elif live is None:
            problems.append(f"{name} is not installed")
        else:
            problems += [f"{name} differs: {text}" for text in differences(desired, live)]
    original = await find_original(client, options.namespace)
    if original is not None:
        problems.append(f"KUDO 0.19 is installed, too: {original}")
    # Where objects are missing or differ, that is why it does not work.
    more = "" if problems else await not_working(client, options.namespace)
    return [*problems, more] if more else problems


def differences(desired: Any, live: Any, path: str = "") -> Iterator[str]:
    """Yield the fields in which an object differs from its manifest.

    Fields that the manifest lacks or has empty are left to the API server and other managers.

    Args:
        desired: The manifest, or a part of it.
        live: The same part of the object.
        path: Of the part.
    """
    if isinstance(desired, dict) and isinstance(live, dict):
        for key, value in desired.items():
            yield from differences(value, live.get(key), f"{path}.{key}" if path else key)
    elif isinstance(desired, list) and isinstance(live, list) and len(desired) == len(live):
        # By position: the API server keeps the order of lists.
        for index, value in enumerate(desired):
            yield from differences(value, live[index], f"{path}[{index}]")
    elif desired != live and desired not in ([], {}):
        yield f"{path} is {_shown(live)}, not {_shown(desired)}"


def _shown(value: Any) -> str:
    text = "missing" if value is None else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


async def not_working(client: Client, namespace: str) -> str:
    """Return why KUDO does not work; empty if it does."""
    for name in (WEBHOOK, RECONCILER):
        problem = await unavailable(client, name, namespace)
        if problem:
            return problem
    # An Instance of an OperatorVersion that does not exist, as a dry run, which stores nothing:
    # only the webhook denies it.
    instance: JsonObject = {
        "apiVersion": API_VERSION,
        "kind": "Instance",
        "metadata": {"name": _TRIED, "namespace": namespace},
        "spec": {"operatorVersion": {"name": _TRIED}},
    }
    try:
        await client.create(INSTANCES, instance, dry_run=True)
    except ApiError as error:
        denied = error.reason == "OperatorVersionNotFound" and _HOOK in error.message
        return "" if denied else describe(error) or ""
    return "the API server does not call the webhook: its configuration is missing or empty"


async def not_established(client: Client, name: str) -> str:
    """Return why a CRD is not served; empty if it is."""
    crd = await find(client, CRDS, name)
    if crd is None:
        return f"CRD {name} is not installed"
    if crd["metadata"].get("deletionTimestamp"):
        return f"CRD {name} is being deleted, and its objects with it"
    conditions = (crd.get("status") or {}).get("conditions") or []
    held = {condition["type"] for condition in conditions if condition["status"] == "True"}
    return "" if "Established" in held else f"CRD {name} is not established"


async def unavailable(client: Client, name: str, namespace: str) -> str:
    """Return why a Deployment is not rolled out; empty if it is."""
    deployment = await find(client, DEPLOYMENTS, name, namespace)
    what = named(DEPLOYMENTS, name)
    if deployment is None:
        return f"{what} is not installed"
    status = deployment.get("status") or {}
    # An older generation: the counts below are those of the former pod template.
    if status.get("observedGeneration", 0) < deployment["metadata"]["generation"]:
        return f"{what} is being updated"
    desired = deployment["spec"].get("replicas", 1)
    counts = {key: status.get(f"{key}Replicas", 0) for key in ("available", "updated")}
    if min(counts.values()) >= desired and status.get("replicas", 0) == desired:
        return ""
    if status.get("replicas", 0) > desired and min(counts.values()) >= desired:
        return f"{what}: pods of the previous version still exist"
    # Why pods cannot be created: a quota, a rule of admission.
    failure = next(
        (
            f"; {condition.get('message', '')}"
            for condition in status.get("conditions") or []
            if condition["type"] == "ReplicaFailure" and condition["status"] == "True"
        ),
        "",
    )
    return f"{what}: {min(counts.values())} of {desired} replicas are available{failure}"


async def trouble_of_pods(client: Client, name: str, namespace: str) -> str:
    """Return why the pods of a Deployment do not start, to be appended to a text."""
    component = name.removeprefix("kudo-")
    selector = f"app.kubernetes.io/part-of=kudo,app.kubernetes.io/component={component}"
    try:
        pods = await client.list(PODS, namespace=namespace, label_selector=selector)
    except KubeError:
        return ""
    texts = [text for pod in pods.items for text in _trouble(pod)]
    return f"\n  {texts[0]}" if texts else ""


def _trouble(pod: JsonObject) -> list[str]:
    status, name = pod.get("status") or {}, pod["metadata"]["name"]
    waiting = [
        state["waiting"]
        for container in status.get("containerStatuses") or []
        if (state := container.get("state") or {}).get("waiting")
    ]
    unscheduled = [
        condition
        for condition in status.get("conditions") or []
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    ]
    return [
        f"pod {name}: {state.get('reason', '')} {state.get('message', '')}".rstrip()
        for state in (*unscheduled, *waiting)
    ]
