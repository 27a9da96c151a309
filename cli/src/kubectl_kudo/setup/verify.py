"""`kubectl kudo init --verify`: compares what is installed with the manifests; changes nothing."""

from collections.abc import Iterator
from typing import Any

from kubectl_kudo.session.errors import CliError, ExitCode
from kubectl_kudo.session.output import JsonObject, say
from kubectl_kudo.setup.checks import helm_release, in_other_namespaces, other_certificate
from kubectl_kudo.setup.cluster import find_like, until
from kubectl_kudo.setup.install import not_established
from kubectl_kudo.setup.kinds import kind_of, named
from kubectl_kudo.setup.manifests import read_manifests
from kubectl_kudo.setup.options import Options
from kubectl_kudo.setup.original import find_original
from kubectl_kudo.setup.ready import not_working
from kubeio.client import Client
from kubeio.kinds import CRDS


async def verify(client: Client, options: Options, *, wait: bool) -> None:
    """Print that the installation matches the manifests and works.

    Raises:
        CliError: it does not; the text lists what is wrong. Or KUDO was installed otherwise, with
            objects that differ from these manifests without being wrong.
    """
    await _check_ours(client, options.namespace)

    async def problem() -> str:
        return "\n  ".join(await _problems(client, options))

    left = await (until(problem, options.wait_seconds) if wait else problem())
    if left:
        raise CliError(f"KUDO installation is not valid:\n  {left}", code=ExitCode.INVALID)
    say(f"✅ KUDO is installed in namespace {options.namespace} as it should be, and works")


async def _check_ours(client: Client, namespace: str) -> None:
    release = await helm_release(client, namespace)
    if release is not None:
        test = f"helm test {release.name} --namespace={release.namespace}"
        raise CliError(f"KUDO was installed by Helm, as release {release.name}: `{test}` checks it")
    others = await in_other_namespaces(client, namespace)
    if others:
        raise CliError(others[0])


async def _problems(client: Client, options: Options) -> list[str]:
    other = await other_certificate(client, options)
    if other:
        return [other]
    found = [
        problem
        for obj in read_manifests(options).all()
        for problem in await _problems_of(client, obj)
    ]
    original = await find_original(client, options.namespace)
    if original is not None:
        found.append(f"KUDO 0.19 is installed, too: {original}")
    # Where objects are missing or differ, that is why it does not work.
    more = "" if found else await not_working(client, options.namespace)
    return [*found, more] if more else found


async def _problems_of(client: Client, desired: JsonObject) -> list[str]:
    kind, name = kind_of(desired), desired["metadata"]["name"]
    live = await find_like(client, desired)
    if kind == CRDS:
        unserved = await not_established(client, name)
        if unserved:
            return [unserved]
    if live is None:
        return [f"{named(kind, name)} is not installed"]
    return [f"{named(kind, name)} differs: {text}" for text in differences(desired, live)]


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
        for index, value in enumerate(desired):
            yield from differences(value, live[index], f"{path}[{index}]")
    elif desired != live and desired not in ([], {}):
        yield f"{path} is {_shown(live)}, not {_shown(desired)}"


def _shown(value: Any) -> str:
    text = "missing" if value is None else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
