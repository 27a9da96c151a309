"""The token of a service account is renewed by the kubelet, in the pods, while both services run.

A token lives ten minutes at least, and its renewal is waited for.
"""

import asyncio
import base64
import json
import time

import pytest

from tests.e2e.chart.plans import WRITTEN, apply, written
from tests.e2e.chart.release import COMPONENTS, Component, Release
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

pytestmark = pytest.mark.campaign

_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_LIFE = 600
"""Seconds: the least that an API server takes. The kubelet renews after four fifths."""
_SECONDS = 1.5 * _LIFE


def short_lived() -> str:
    """Return a patch of a Deployment: its pods have a volume with a token that ends soon."""
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": _LIFE}}
    authority = {"configMap": {"name": "kube-root-ca.crt"}}
    field = {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}
    sources = [token, authority, {"downwardAPI": {"items": [field]}}]
    return json.dumps(
        [
            {
                "op": "add",
                "path": "/spec/template/spec/automountServiceAccountToken",
                "value": False,
            },
            {
                "op": "add",
                "path": "/spec/template/spec/volumes/-",
                "value": {"name": "token", "projected": {"sources": sources}},
            },
            {
                "op": "add",
                "path": "/spec/template/spec/containers/0/volumeMounts/-",
                "value": {"name": "token", "mountPath": _FOLDER, "readOnly": True},
            },
        ]
    )


def token(release: Release, pod: str) -> str:
    code = f"print(open('{_FOLDER}/token').read())"
    return release.kubectl("exec", pod, "--", "/opt/kudo/bin/python", "-c", code).strip()


def end(token: str) -> float:
    """Return when a token ends, in seconds since the epoch."""
    payload = token.split(".")[1]
    claims: Json = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return float(claims["exp"])


def restarts(release: Release, component: Component) -> dict[str, int]:
    return {
        pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"]
        for pod in release.pods(component)
    }


async def test_services_go_on_when_the_token_that_they_began_with_has_ended(
    world: World, release: Release
) -> None:
    release.values = None  # `settle` gives others the usual release again
    for component in COMPONENTS:
        release.kubectl(
            "patch", f"deployment/kudo-{component}", "--type=json", f"-p={short_lived()}"
        )
    release.wait_available()
    await apply(world, written(), build.instance("i", WRITTEN))
    await world.until_complete("i")
    before = {pod: token(release, pod) for name in COMPONENTS for pod in release.names(name)}
    started = {component: restarts(release, component) for component in COMPONENTS}

    async def over() -> bool:
        await asyncio.sleep(1)
        now = {pod: token(release, pod) for pod in before}
        renewed = all(now[pod] != before[pod] for pod in before)
        return renewed and time.time() > max(map(end, before.values())) + 10

    await wait_until(
        over, lambda: "every token to be renewed, and the first to have ended", _SECONDS
    )
    await apply(world, build.instance("j", WRITTEN))
    await world.until_complete("j")
    change = '--patch={"spec":{"planExecution":{"planName":"deploy"}}}'
    done = await world.kubectl("patch", "instances.kudo.dev", "i", "--type=merge", change)
    assert done.code == 0, done.output
    await world.until_complete("i")
    # A new watch and a new connection need the new token, too.
    assert {component: restarts(release, component) for component in COMPONENTS} == started
    said = [line for name in COMPONENTS for line in release.logs(name)]
    assert not [line for line in said if "nauthorized" in line]
