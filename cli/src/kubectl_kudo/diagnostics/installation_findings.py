"""Says in words what looks wrong with KUDO itself, from what was read of it."""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from kubectl_kudo.diagnostics.finding import (
    Finding,
    because,
    condition_of,
    moment_of,
    name_of,
    shown,
)
from kubectl_kudo.diagnostics.findings import of_object
from kubectl_kudo.diagnostics.installation import LEASE, Installation, find_lease
from kubectl_kudo.diagnostics.reading import Reader
from kubectl_kudo.session.kinds import DEFINED
from kubectl_kudo.session.output import JsonObject
from kubeio.client import Client
from kubeio.resource import DEPLOYMENTS, ENDPOINT_SLICES, LEASES, SECRETS, STATEFUL_SETS
from kudo.api.names import VERSION

_PEM: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]{1,65536})-----END CERTIFICATE-----"
)
_VERSION: Final = 0xA0
_FIELDS_BEFORE_VALIDITY: Final = 3
"""Serial number, signature algorithm, issuer."""
_UTC_TIME: Final = 0x17
SOON: Final = timedelta(days=7)
_SERVICES: Final = ("kudo-webhook", "kudo-reconciler")
_CONFIGURATIONS: Final = frozenset({"mutatingwebhooks", "validatingwebhooks"})
"""Files of webhook configurations."""


def expiries(pem: str) -> tuple[datetime, ...]:
    """Return until when each certificate of a PEM text is valid; unreadable ones are left out."""
    moments = (_expiry(match[1]) for match in _PEM.finditer(pem))
    return tuple(moment for moment in moments if moment is not None)


def _expiry(text: str) -> datetime | None:
    # The command line depends on no library for certificates, which takes long to import. Of DER
    # only the tag and the length of each value are read.
    try:
        certificate = _content(base64.b64decode(text))
        fields = list(_values(_content(certificate)))
        at = _FIELDS_BEFORE_VALIDITY + (fields[0][0] == _VERSION)
        tag, moment = list(_values(fields[at][1]))[1]
        digits = moment.decode("ascii")
        form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
        return datetime.strptime(digits, form).replace(tzinfo=UTC)
    except (binascii.Error, IndexError, ValueError):
        return None


def _content(der: bytes) -> bytes:
    """Return the content of the first value; raises ValueError if there is none."""
    for _, content in _values(der):
        return content
    raise ValueError("empty")


def _values(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of the values that follow each other.

    Raises:
        IndexError, ValueError: they are cut off.
    """
    at = 0
    while at < len(der):
        tag, length, begin = der[at], der[at + 1], at + 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(der[begin : begin + size], "big")
            begin += size
        if begin + length > len(der):
            raise ValueError("cut off")
        yield tag, der[begin : begin + length]
        at = begin + length


def of_installation(
    installation: Installation, expiries: Sequence[datetime], now: datetime
) -> Iterator[Finding]:
    """Yield what looks wrong with KUDO itself.

    Args:
        installation: What was read of it.
        expiries: Until when the certificates of the webhook are valid.
        now: The time.
    """
    yield from _of_crds(installation.crds)
    yield from _of_webhooks(installation)
    if not installation.namespace:
        return
    no_leader = of_lease(next(iter(installation.of(LEASES)), None), installation.namespace, now)
    is_known = "leaselist" not in installation.unread
    yield from _of_services(installation, leads=is_known and no_leader is None)
    if no_leader and is_known and not _is_original(installation):
        yield no_leader
    for moment in expiries:
        if moment < now + SOON:
            verb = "expired" if moment < now else "expires"
            yield Finding(
                "the webhook's certificate",
                f"{verb} on {moment:%Y-%m-%d %H:%M} UTC",
                "changes of Instances are refused without a valid one: see the log of the webhook",
            )


def _of_crds(crds: list[JsonObject]) -> Iterator[Finding]:
    served = {
        name_of(crd): {
            version["name"]
            for version in crd["spec"].get("versions") or []
            if version.get("served")
        }
        for crd in crds
    }
    for kind in DEFINED if crds else ():
        if kind.name not in served:
            yield Finding(f"CRD {kind.name}", "is not installed", "run `kubectl kudo init`")
        elif VERSION not in served[kind.name]:
            yield Finding(f"CRD {kind.name}", f"does not serve {VERSION}")
    for crd in crds:
        status = crd.get("status") or {}
        failed = condition_of(status, "Established", "False")
        if failed:
            yield Finding(f"CRD {name_of(crd)}", f"is not established{because(failed)}")


def _of_webhooks(installation: Installation) -> Iterator[Finding]:
    if (
        installation.namespace
        and not installation.webhooks
        and not installation.unread & _CONFIGURATIONS
    ):
        yield Finding(
            "the webhook",
            "no webhook configuration was found: changes are checked by the reconciler alone",
            "restart the webhook, which registers itself, or restore the configuration: "
            "`kubectl kudo init --upgrade`",
        )
    for configuration in installation.webhooks:
        subject = f"{configuration['kind']} {name_of(configuration)}"
        hooks = configuration.get("webhooks") or []
        if not hooks:
            text = "has no webhooks: the webhook service has not registered itself"
            yield Finding(subject, text, _pods(installation.namespace))
        if any(not (hook.get("clientConfig") or {}).get("caBundle") for hook in hooks):
            text = "has no caBundle: the API server cannot call the webhook"
            yield Finding(subject, text, _pods(installation.namespace))
    slices = [
        obj
        for obj in installation.of(ENDPOINT_SLICES)
        if (obj["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == _SERVICES[0]
    ]
    # An unknown `ready` counts as true: so the API says, and so kube-proxy does.
    ready = [
        endpoint
        for obj in slices
        for endpoint in obj.get("endpoints") or []
        if (endpoint.get("conditions") or {}).get("ready") is not False
    ]
    if slices and not ready:
        yield Finding(
            "service kudo-webhook",
            "has no ready endpoint",
            f"every change of an Instance is refused until a pod of the webhook is ready: "
            f"{_pods(installation.namespace)}",
        )


def _pods(namespace: str) -> str:
    return f"see its pods: `kubectl get pods -n {namespace}`"


def _workloads(installation: Installation) -> dict[str, JsonObject]:
    return {
        name_of(obj): obj
        for obj in (*installation.of(DEPLOYMENTS), *installation.of(STATEFUL_SETS))
    }


def _is_original(installation: Installation) -> bool:
    """Return whether it is KUDO 0.19, which has one service and no Lease."""
    return any(name not in _SERVICES for name in _workloads(installation))


def _of_services(installation: Installation, *, leads: bool) -> Iterator[Finding]:
    workloads = _workloads(installation)
    # Services that run outside of the cluster have no Deployments: their work shows that they run.
    by_url = any(
        (hook.get("clientConfig") or {}).get("url")
        for configuration in installation.webhooks
        for hook in configuration.get("webhooks") or []
    )
    runs = dict(zip(_SERVICES, (by_url, leads), strict=True))
    looked_for = not _is_original(installation) and "deploymentlist" not in installation.unread
    for name in _SERVICES if looked_for else ():
        if name not in workloads and not runs[name]:
            yield Finding(
                f"deployment {name}", f"was not found in namespace {installation.namespace}"
            )
    for obj in workloads.values():
        yield from of_object(obj)


def of_lease(lease: JsonObject | None, namespace: str, now: datetime) -> Finding | None:
    """Return why no reconciler leads; None if one does.

    Args:
        lease: The Lease of the reconciler; None if there is none.
        namespace: Where it is.
        now: The time. That of this machine may differ from that of the cluster by as much as a
            Lease lasts.
    """
    spec = (lease or {}).get("spec") or {}
    renewed = moment_of(spec.get("renewTime"))
    lasts = timedelta(seconds=spec.get("leaseDurationSeconds") or 0)
    if lease is None:
        text = "does not exist"
    elif spec.get("holderIdentity") == "":
        text = "is held by nobody"
    elif renewed and now - renewed > 2 * lasts:
        text = f"was renewed {shown(now - renewed)} ago"
    else:
        return None
    text = f"{text}: no reconciler leads, so no plan runs"
    return Finding(f"lease {LEASE}", text, _pods(namespace), stops=True)


def until_when_valid(installation: Installation) -> list[datetime]:
    """Return until when the certificates of the webhook are valid."""
    return [moment for text in certificates(installation) for moment in expiries(text)]


def certificates(installation: Installation) -> list[str]:
    """Return the PEM texts in which the certificates of the webhook are."""
    secrets = [
        (obj.get("data") or {}).get(key)
        for obj in installation.of(SECRETS)
        for key in ("tls.crt", "ca.crt")
    ]
    bundles = [
        (hook.get("clientConfig") or {}).get("caBundle")
        for configuration in installation.webhooks
        for hook in configuration.get("webhooks") or []
    ]
    texts: list[str] = []
    for text in filter(None, (*secrets, *bundles)):
        # What is no Base64 text was written by hand, and is no certificate.
        with suppress(binascii.Error, ValueError):
            texts.append(base64.b64decode(str(text)).decode())
    return [*filter(None, texts)]


async def nobody_leads(client: Client, now: datetime) -> bool:
    """Return whether no reconciler holds the Lease; False also if that cannot be read."""
    lease = await find_lease(Reader(client))
    return lease is not None and of_lease(*lease, now) is not None
