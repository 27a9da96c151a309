"""Says in words what looks wrong with KUDO itself, from what was read of it."""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
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
from kubeio.kinds import DEPLOYMENTS, ENDPOINT_SLICES, LEASES, SECRETS, STATEFUL_SETS
from kudo.api.names import VERSION

_PEM: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]{1,65536})-----END CERTIFICATE-----"
)
_VERSION: Final = 0xA0
_FIELDS_BEFORE_VALIDITY: Final = 3
"""Serial number, signature algorithm, issuer."""
_UTC_TIME: Final = 0x17


def expiries(pem: str) -> tuple[datetime, ...]:
    """Return until when each certificate of a PEM text is valid; unreadable ones are left out."""
    found = (_expiry(match[1]) for match in _PEM.finditer(pem))
    return tuple(moment for moment in found if moment is not None)


def _expiry(text: str) -> datetime | None:
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


SOON: Final = timedelta(days=7)
_SERVICES: Final = ("kudo-webhook", "kudo-reconciler")
_CONFIGURATIONS: Final = frozenset({"mutatingwebhooks", "validatingwebhooks"})
"""Files of webhook configurations."""


def of_installation(
    found: Installation, expiries: Sequence[datetime], now: datetime
) -> Iterator[Finding]:
    """Yield what looks wrong with KUDO itself.

    Args:
        found: What was read of it.
        expiries: Until when the certificates of the webhook are valid.
        now: The time.
    """
    yield from _of_crds(found.crds)
    yield from _of_webhooks(found)
    if not found.namespace:
        return
    no_leader = of_lease(next(iter(found.of(LEASES)), None), found.namespace, now)
    is_known = "leaselist" not in found.unread
    yield from _of_services(found, leads=is_known and no_leader is None)
    if no_leader and is_known and not _is_original(found):
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
            one["name"] for one in crd["spec"].get("versions") or [] if one.get("served")
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


def _of_webhooks(found: Installation) -> Iterator[Finding]:
    if found.namespace and not found.webhooks and not found.unread & _CONFIGURATIONS:
        yield Finding(
            "the webhook",
            "no webhook configuration was found: changes are checked by the reconciler alone",
            "restart the webhook, which registers itself, or restore the configuration: "
            "`kubectl kudo init --upgrade`",
        )
    for configuration in found.webhooks:
        subject = f"{configuration['kind']} {name_of(configuration)}"
        hooks = configuration.get("webhooks") or []
        if not hooks:
            text = "has no webhooks: the webhook service has not registered itself"
            yield Finding(subject, text, _pods(found.namespace))
        if any(not (hook.get("clientConfig") or {}).get("caBundle") for hook in hooks):
            text = "has no caBundle: the API server cannot call the webhook"
            yield Finding(subject, text, _pods(found.namespace))
    slices = [
        one
        for one in found.of(ENDPOINT_SLICES)
        if (one["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == _SERVICES[0]
    ]
    ready = [
        endpoint
        for one in slices
        for endpoint in one.get("endpoints") or []
        if (endpoint.get("conditions") or {}).get("ready") is not False
    ]
    if slices and not ready:
        yield Finding(
            "service kudo-webhook",
            "has no ready endpoint",
            f"every change of an Instance is refused until a pod of the webhook is ready: "
            f"{_pods(found.namespace)}",
        )


def _pods(namespace: str) -> str:
    return f"see its pods: `kubectl get pods -n {namespace}`"


def _workloads(found: Installation) -> dict[str, JsonObject]:
    return {name_of(obj): obj for obj in (*found.of(DEPLOYMENTS), *found.of(STATEFUL_SETS))}


def _is_original(found: Installation) -> bool:
    """Return whether it is KUDO 0.19, which has one service and no Lease."""
    return any(name not in _SERVICES for name in _workloads(found))


def _of_services(found: Installation, *, leads: bool) -> Iterator[Finding]:
    workloads = _workloads(found)
    # Services that run outside of the cluster have no Deployments: their work shows that they run.
    by_url = any(
        (hook.get("clientConfig") or {}).get("url")
        for configuration in found.webhooks
        for hook in configuration.get("webhooks") or []
    )
    runs = dict(zip(_SERVICES, (by_url, leads), strict=True))
    looked_for = not _is_original(found) and "deploymentlist" not in found.unread
    for name in _SERVICES if looked_for else ():
        if name not in workloads and not runs[name]:
            yield Finding(f"deployment {name}", f"was not found in namespace {found.namespace}")
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


def until_when_valid(found: Installation) -> list[datetime]:
    """Return until when the certificates of the webhook are valid."""
    return [moment for text in certificates(found) for moment in expiries(text)]


def certificates(found: Installation) -> list[str]:
    """Return the PEM texts in which the certificates of the webhook are."""
    secrets = [
        (obj.get("data") or {}).get(key)
        for obj in found.of(SECRETS)
        for key in ("tls.crt", "ca.crt")
    ]
    bundles = [
        (hook.get("clientConfig") or {}).get("caBundle")
        for configuration in found.webhooks
        for hook in configuration.get("webhooks") or []
    ]
    return [pem for text in (*secrets, *bundles) if text and (pem := _decoded(str(text)))]


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text).decode()
    except (binascii.Error, ValueError):
        return ""


async def nobody_leads(client: Client, now: datetime) -> bool:
    """Return whether no reconciler holds the Lease; False also if that cannot be read."""
    found = await find_lease(Reader(client))
    return found is not None and of_lease(*found, now) is not None
