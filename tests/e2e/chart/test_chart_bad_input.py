"""What users get wrong: a log line or an event names it, and it heals by itself once mended."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.chart.plans import WRITTEN, apply, written
from tests.e2e.chart.release import USUAL, Release
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tools.chart.helm import NAMESPACE

_SECRET = "own-certificate"
_HOST = f"kudo-webhook.{NAMESPACE}.svc"
_NO_AUTHORITY = "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n"
_AT_ONCE = ("--timeout=60s",)
_BUILT_IN = ("kudo-webhook-certificate", "kudo-webhook-certificate-ca")


@pytest.fixture
def certificate(release: Release, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Yield the data of a good Secret, and have the usual certificates again afterwards."""
    serving, key, authority = release.site.cluster.serving_certificate(tmp_path, _HOST)
    texts = {"tls.crt": serving.read_text(), "tls.key": key.read_text()}
    yield {**texts, "ca.crt": authority.decode()}
    release.settle()
    release.kubectl("delete", "secret", _SECRET, "--ignore-not-found")


def provided(authority: str) -> Json:
    own = {"secretName": _SECRET, "caBundle": authority}
    return {**USUAL, "tls": {"mode": "provided", "provided": own}}


def secret(data: dict[str, str]) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": _SECRET},
        "data": {name: base64.b64encode(text.encode()).decode() for name, text in data.items()},
    }


def newest(release: Release, component: str = "webhook") -> Json:
    """Return the pod that was created last."""
    pods = release.pods("webhook" if component == "webhook" else "reconciler")
    found: Json = max(pods, key=lambda pod: pod["metadata"]["creationTimestamp"])
    return found


async def until_said(release: Release, what: str) -> list[str]:
    """Wait until the newest pod of the webhook has said something; return the lines with it."""
    found: list[str] = []

    async def said() -> bool:
        done = release.kubectl.run("logs", newest(release)["metadata"]["name"])
        found[:] = [line for line in done.stdout.splitlines() if what in line]
        return bool(found)

    await wait_until(said, lambda: f"the log to say {what!r}")
    return found


async def until_event(release: Release, text: str) -> None:
    async def there() -> bool:
        name = newest(release)["metadata"]["name"]
        events = release.kubectl.get("events", f"--field-selector=involvedObject.name={name}")
        return any(text in event["message"] for event in events["items"])

    await wait_until(there, lambda: f"an event of the newest pod with {text!r}")


async def until_applied(world: World, obj: Json) -> None:
    """Try until it is taken: another authority is trusted a moment after it is served."""
    said = ""

    async def taken() -> bool:
        nonlocal said
        done = await world.apply(obj)
        said = done.output
        return done.code == 0

    await wait_until(taken, lambda: f"an object to be taken; last said: {said}")


async def test_a_missing_and_then_unreadable_certificate_is_named_and_loaded_once_it_is_good(
    release: Release, certificate: dict[str, str], world: World
) -> None:
    release.upgrade(provided(certificate["ca.crt"]), *_AT_ONCE)
    await until_event(release, f'secret "{_SECRET}" not found')

    release.kubectl.apply(secret({**certificate, "tls.key": "no key\n"}))
    lines = await until_said(release, "certificate refused")
    assert len(lines) == 1
    assert "there is none to serve with" in lines[0]

    # The pods that were there before have answered all the while.
    await apply(world, written(), build.instance("before", WRITTEN))
    release.kubectl.apply(secret(certificate))
    release.wait_available("webhook")
    await world.until_complete("before")
    await until_applied(world, build.instance("after", WRITTEN))
    await world.until_complete("after")


async def test_an_authority_that_cannot_be_read_is_named_in_the_log(
    release: Release, certificate: dict[str, str], world: World
) -> None:
    release.kubectl.apply(secret(certificate))
    release.upgrade(provided(_NO_AUTHORITY), *_AT_ONCE)

    [line] = await until_said(release, "caBundle")
    assert "cannot start" in line

    # The pods that were there before have answered all the while.
    await apply(world, written(), build.instance("before", WRITTEN))
    release.upgrade(provided(certificate["ca.crt"]))
    await until_applied(world, build.instance("i", WRITTEN))
    await world.until_complete("i")


@pytest.fixture
def binding(release: Release) -> Iterator[Json]:
    """Yield the binding that lets the webhook keep its certificates; put it back in the end."""
    found = release.kubectl.get("rolebinding", "kudo-webhook")
    for field in ("uid", "resourceVersion", "creationTimestamp"):
        del found["metadata"][field]
    yield found
    release.kubectl.apply(found)


async def test_a_right_that_the_webhook_lacks_is_named_and_certificates_are_kept_once_it_has_it(
    release: Release, binding: Json, world: World
) -> None:
    release.kubectl("delete", "rolebinding", "kudo-webhook")
    release.kubectl("delete", "secret", *_BUILT_IN)
    release.kubectl("delete", "pod", newest(release)["metadata"]["name"])

    [line] = await until_said(release, "certificates cannot be kept")
    assert 'secrets \\"kudo-webhook-certificate' in line
    assert "is forbidden" in line

    release.kubectl.apply(binding)
    release.wait_available("webhook")
    await apply(world, written(), build.instance("i", WRITTEN))
    await world.until_complete("i")
