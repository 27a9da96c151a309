"""`kubectl kudo init`: installs KUDO, or updates an installation to match the manifests.

The order is that of `Manifests`. The webhook configurations are applied empty, and a replica of the
webhook fills them in once it is reachable: no request is blocked meanwhile. Only the CRDs are
waited for, unless `--wait` is given or KUDO 0.19 is replaced.
"""

import base64
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from kubectl_kudo.session.errors import CliError, ExitCode, describe
from kubectl_kudo.session.output import JsonObject, Report, talk
from kubectl_kudo.setup.checks import REQUIREMENTS, Plan, check, check_rights, old_server
from kubectl_kudo.setup.cluster import (
    MANAGED_BY,
    RECONCILER,
    WEBHOOK,
    apply,
    find,
    installed,
    key_of,
    kind_of,
    named,
    remove,
    until,
)
from kubectl_kudo.setup.manifests import Manifests, read_manifests
from kubectl_kudo.setup.options import Options
from kubectl_kudo.setup.original import Original, find_original, remove_original, stop
from kubectl_kudo.setup.verify import not_established, not_working, trouble_of_pods, unavailable
from kubeio.client import Client
from kubeio.errors import AlreadyExists, ApiError, ConnectionLost, Forbidden
from kubeio.resource import SECRETS

DIGEST_KEY: Final = "kudo-digest-key"
"""Name of the Secret with the key for digests."""
_BYTES: Final = 32
_AGAIN: Final = "Run the same command again to continue."


async def install(
    client: Client, options: Options, report: Report, *, upgrade: bool, take_over: bool, wait: bool
) -> None:
    """Check everything, then apply it step by step; the first failure ends it.

    Raises:
        CliError: a requirement is not met, a step failed, or something does not get ready in time.
    """
    manifests = read_manifests(options)
    await check_rights(client, manifests.all())
    original = await find_original(client, options.namespace)
    plan = Plan(client, options, upgrade, original, take_over)
    await check(plan, REQUIREMENTS)
    installation = _Installation(client, options, report, manifests)
    await installation.run(original)
    if wait or original is not None:
        await installation.wait()
    if original is not None:
        async for name in remove_original(client, original, options.wait_seconds):
            report.say(f"removed {name} of KUDO 0.19")


async def install_crds(
    client: Client, options: Options, report: Report, crds: tuple[JsonObject, ...]
) -> None:
    """Apply the CRDs and nothing else.

    Raises:
        CliError: a requirement is not met, or they are not served in time.
    """
    await check_rights(client, crds)
    plan = Plan(client, options, upgrade=False, original=None, take_over=False)
    await check(plan, [old_server])
    await _apply_crds(client, options, crds)
    report.say("✅ installed crds")


async def _apply_crds(client: Client, options: Options, crds: Iterable[JsonObject]) -> None:
    # All are applied before the first is waited for: the API server establishes several at a time.
    for crd in crds:
        await apply(client, crd)
    for crd in crds:
        name = crd["metadata"]["name"]

        async def unserved(name: str = name) -> str:
            return await not_established(client, name)

        await _wait_for(unserved, options, "")


@dataclass(frozen=True, slots=True)
class _Installation:
    client: Client
    options: Options
    report: Report
    manifests: Manifests

    async def run(self, original: Original | None) -> None:
        await _apply_crds(self.client, self.options, self.manifests.crds)
        self._installed("crds")
        await self._apply(self.manifests.namespace)
        self._installed("namespace")
        await self._apply(self.manifests.rights)
        self._installed("service account")
        await self._apply(self.manifests.webhook)
        await self._apply(self.manifests.configurations)
        self._installed("webhook")
        if original is not None:
            # Only now: if the new webhook cannot start, KUDO 0.19 keeps working.
            await self._wait(WEBHOOK)
            await stop(self.client, original, self.options.wait_seconds)
            self.report.say(f"stopped KUDO 0.19: {original}")
        await make_digest_key(self.client, self.options.namespace)
        await self._apply(self.manifests.controller)
        # What only an earlier version or the other source of certificates needs. Last: until the
        # new Deployments are applied, the old ones use it.
        kept = {key_of(obj) for obj in self.manifests.all()}
        for obj in await installed(self.client, self.options.namespace):
            if key_of(obj) not in kept:
                metadata = obj["metadata"]
                place = metadata.get("namespace")
                await remove(self.client, kind_of(obj), metadata["name"], place)
                self.report.say(f"removed {named(kind_of(obj), metadata['name'])}")
        self._installed("kudo controller")

    async def wait(self) -> None:
        self.report.say("⌛Waiting for KUDO controller to be ready in your cluster...")
        await self._wait(WEBHOOK)
        await self._wait(RECONCILER)

        async def problem() -> str:
            return await not_working(self.client, self.options.namespace)

        await _wait_for(problem, self.options, "watch timed out, readiness uncertain: ")
        self.report.say("✅ KUDO is ready!")

    async def _wait(self, name: str) -> None:
        async def problem() -> str:
            return await unavailable(self.client, name, self.options.namespace)

        left = await until(problem, self.options.wait_seconds)
        if left:
            more = await trouble_of_pods(self.client, name, self.options.namespace)
            seconds = self.options.wait_seconds
            raise CliError(
                f"watch timed out, readiness uncertain: after {seconds}s, {left}{more}\n  {_AGAIN}",
                code=ExitCode.TIMED_OUT,
            )

    async def _apply(self, objects: Iterable[JsonObject]) -> None:
        for obj in objects:
            await apply(self.client, obj)

    def _installed(self, step: str) -> None:
        self.report.say(f"✅ installed {step}")


async def _wait_for(problem: Callable[[], Awaitable[str]], options: Options, before: str) -> None:
    left = await until(problem, options.wait_seconds)
    if left:
        text = f"{before}after {options.wait_seconds}s, {left}"
        raise CliError(text, code=ExitCode.TIMED_OUT)


async def make_digest_key(client: Client, namespace: str) -> None:
    """Create the Secret with the key for digests if there is none, and keep one that is there.

    Only the reconciler reads it, mounted as a file. Another key would do no harm: each record of a
    Secret is written once more. None would do no harm either, so an installation does not end for
    it: users who may install all the rest, and have no rights on Secrets, can make it later.

    Raises:
        CliError: the API server refused it for another reason, or did not answer.
    """
    try:
        if await find(client, SECRETS, DIGEST_KEY, namespace) is not None:
            return
        secret: JsonObject = {
            "apiVersion": SECRETS.api_version,
            "kind": SECRETS.kind,
            "metadata": {
                "name": DIGEST_KEY,
                "labels": {"app.kubernetes.io/part-of": "kudo", MANAGED_BY: "kubectl-kudo"},
            },
            "type": "Opaque",
            "data": {"key": base64.b64encode(secrets.token_bytes(_BYTES)).decode()},
        }
        await client.create(SECRETS, secret, namespace=namespace)
    except AlreadyExists:
        return
    except Forbidden as error:
        talk(
            f"Warning: secret/{DIGEST_KEY} was not made: {describe(error)}\n"
            "KUDO works without it, but records Secrets without a digest, and plans with secret "
            "parameters wait. If there is none, docs/"
            "installing.md tells under Inventories how to make it; then restart the reconciler."
        )
    except (ApiError, ConnectionLost) as error:
        raise CliError(f"failed to create secret/{DIGEST_KEY}: {describe(error)}") from error
