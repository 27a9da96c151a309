"""A small stand-in for cert-manager: what it does for KUDO, by the objects that it does it with.

Certificates of self-signed and CA issuers become Secrets, are renewed in time or when their status
asks for it (as `cmctl renew` has it ask), and the CA of a Secret comes into the caBundle of what
names its Certificate in `cert-manager.io/inject-ca-from`. There it is added to those that have not
expired, as cainjector does since 1.19, or replaces them, as it did before. It works on
cert-manager's real CRDs, and knows nothing of KUDO.
"""

import asyncio
import base64
import datetime as dt
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubeio.client import Client
from kubeio.errors import Conflict, NotFound
from kubeio.resource import Resource
from tests.support.gomodules import CERT_MANAGER, module_folder

Json = dict[str, Any]

_GROUP = "cert-manager.io"
CRDS = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False
)
CERTIFICATES = Resource(_GROUP, "v1", "Certificate", "certificates", namespaced=True)
ISSUERS = Resource(_GROUP, "v1", "Issuer", "issuers", namespaced=True)
SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
_ADMISSION = "admissionregistration.k8s.io"
_INJECTED = tuple(
    Resource(_ADMISSION, "v1", f"{kind}Configuration", f"{kind.lower()}configurations", False)
    for kind in ("MutatingWebhook", "ValidatingWebhook")
)
_INJECT_FROM = f"{_GROUP}/inject-ca-from"
_MANAGER = "cert-manager"
_PAUSE = 0.1
_DURATION = re.compile(r"([0-9.]+)(h|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_LIFETIME = "2160h"


async def install_crds(admin: Client) -> None:
    """Create the CRDs of Certificates and Issuers, and wait until they are served."""
    folder = module_folder(CERT_MANAGER) / "deploy" / "crds"
    names = []
    for file in ("certificates", "issuers"):
        text = (folder / f"{_GROUP}_{file}.yaml").read_text(encoding="utf-8")
        for crd in filter(None, yaml.safe_load_all(text)):
            await admin.apply(CRDS, crd, field_manager=_MANAGER, force=True)
            names.append(crd["metadata"]["name"])
    for name in names:
        while not _condition(await admin.get(CRDS, name), "Established"):  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE)


@asynccontextmanager
async def cert_manager(admin: Client, *, merging: bool = True) -> AsyncIterator[None]:
    """Have the CRDs, and the stand-in at work, for the block.

    Args:
        admin: May do everything.
        merging: Whether former authorities stay in a caBundle until they expire.
    """
    await install_crds(admin)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_work(admin, merging), name="cert-manager")
        try:
            yield
        finally:
            task.cancel()


async def renew(admin: Client, namespace: str, name: str) -> None:
    """Ask for a new certificate, as `cmctl renew` does."""
    certificate = await admin.get(CERTIFICATES, name, namespace=namespace)
    await _write_status(admin, certificate, issuing=True)


async def _work(admin: Client, merging: bool) -> None:
    while True:
        try:
            for certificate in (await admin.list(CERTIFICATES)).items:
                await _issue_if_due(admin, certificate)
            await _inject(admin, merging)
        except (Conflict, NotFound):
            pass  # somebody was quicker; look again
        await asyncio.sleep(_PAUSE)


# Certificates


@dataclass(frozen=True)
class _Pair:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    authority: x509.Certificate

    @classmethod
    def read(cls, data: Mapping[str, str]) -> "_Pair | None":
        found = {name: base64.b64decode(data.get(name, "")) for name in ("tls.crt", "ca.crt")}
        if not all(found.values()) or "tls.key" not in data:
            return None
        key = serialization.load_pem_private_key(base64.b64decode(data["tls.key"]), password=None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        certificate, authority = (x509.load_pem_x509_certificate(pem) for pem in found.values())
        return cls(certificate, key, authority)

    def data(self) -> dict[str, str]:
        key = self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        texts = {"tls.crt": _pem(self.certificate), "tls.key": key, "ca.crt": _pem(self.authority)}
        return {name: base64.b64encode(text).decode() for name, text in texts.items()}


async def _issue_if_due(admin: Client, certificate: Json) -> None:
    namespace, spec = certificate["metadata"]["namespace"], certificate["spec"]
    current = await _pair_in(admin, namespace, spec["secretName"])
    asked = _condition(certificate, "Issuing")
    if current is not None and not asked and not _is_due(current.certificate, spec):
        if not _condition(certificate, "Ready"):
            await _write_status(admin, certificate, pair=current)
        return
    issuer = await admin.get(ISSUERS, spec["issuerRef"]["name"], namespace=namespace)
    authority = None
    if "ca" in issuer["spec"]:
        authority = await _pair_in(admin, namespace, issuer["spec"]["ca"]["secretName"])
        if authority is None:
            return
    pair = _issue(spec, current, authority)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {
            "name": spec["secretName"],
            "namespace": namespace,
            "annotations": {f"{_GROUP}/certificate-name": certificate["metadata"]["name"]},
        },
        "data": pair.data(),
    }
    await admin.apply(SECRETS, secret, field_manager=_MANAGER, force=True)
    await _write_status(admin, certificate, pair=pair)


async def _pair_in(admin: Client, namespace: str, secret: str) -> _Pair | None:
    try:
        found = await admin.get(SECRETS, secret, namespace=namespace)
    except NotFound:
        return None
    return _Pair.read(found.get("data") or {})


def _is_due(certificate: x509.Certificate, spec: Json) -> bool:
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    before = _duration(spec["renewBefore"]) if "renewBefore" in spec else lifetime / 3
    return dt.datetime.now(dt.UTC) >= certificate.not_valid_after_utc - before


def _issue(spec: Json, current: _Pair | None, authority: _Pair | None) -> _Pair:
    kept = (spec.get("privateKey") or {}).get("rotationPolicy", "Always") == "Never"
    key = current.key if kept and current is not None else ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, spec["commonName"])]
        if "commonName" in spec
        else []
    )
    now, is_authority = dt.datetime.now(dt.UTC), bool(spec.get("isCA"))
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject if authority else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + _duration(spec.get("duration", _LIFETIME)))
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .add_extension(_key_usage(authority=is_authority), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )
    names = [x509.DNSName(name) for name in spec.get("dnsNames", [])]
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=not subject)
    if "server auth" in spec.get("usages", []):
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        builder = builder.add_extension(usage, critical=False)
    signer = authority.key if authority else key
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    certificate = builder.add_extension(identifier, False).sign(signer, hashes.SHA256())
    return _Pair(certificate, key, authority.authority if authority else certificate)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _duration(text: str) -> dt.timedelta:
    """Read a duration as Go writes it."""
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))
    return dt.timedelta(seconds=seconds)


def _condition(obj: Json, kind: str) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or []
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


async def _write_status(
    admin: Client, certificate: Json, *, pair: _Pair | None = None, issuing: bool = False
) -> None:
    now = f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
    states = {"Ready": pair is not None or not issuing, "Issuing": issuing}
    conditions = [
        {
            "type": kind,
            "status": str(state),
            "reason": kind,
            "message": "",
            "lastTransitionTime": now,
        }
        for kind, state in states.items()
    ]
    status: Json = {"conditions": conditions}
    if pair is not None:
        status["notAfter"] = f"{pair.certificate.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}"
    metadata = certificate["metadata"]
    await admin.merge_patch(
        CERTIFICATES,
        metadata["name"],
        {"status": status},
        namespace=metadata["namespace"],
        subresource="status",
    )


# The injection of CAs


async def _inject(admin: Client, merging: bool) -> None:
    for resource in _INJECTED:
        for configuration in (await admin.list(resource)).items:
            source = (configuration["metadata"].get("annotations") or {}).get(_INJECT_FROM)
            if source:
                authority = await _authority_of(admin, source)
                patch = list(_bundle_patch(configuration, authority, merging))
                if patch:
                    await admin.json_patch(resource, configuration["metadata"]["name"], patch)


async def _authority_of(admin: Client, source: str) -> str:
    namespace, _, name = source.partition("/")
    certificate = await admin.get(CERTIFICATES, name, namespace=namespace)
    secret = await admin.get(SECRETS, certificate["spec"]["secretName"], namespace=namespace)
    return str(secret["data"]["ca.crt"])


def _bundle_patch(configuration: Json, authority: str, merging: bool) -> Iterator[Json]:
    for index, webhook in enumerate(configuration.get("webhooks") or []):
        held = webhook["clientConfig"].get("caBundle") or ""
        bundle = _merged(held, authority) if merging else authority
        if held != bundle:
            path = f"/webhooks/{index}/clientConfig/caBundle"
            yield {"op": "add", "path": path, "value": bundle}


def _merged(*bundles: str) -> str:
    """Return the certificates of all bundles, each once and in a fixed order, but expired ones."""
    texts = filter(None, map(base64.b64decode, bundles))
    found = {one for text in texts for one in x509.load_pem_x509_certificates(text)}
    living = (one for one in found if dt.datetime.now(dt.UTC) < one.not_valid_after_utc)
    ordered = sorted(living, key=lambda one: one.fingerprint(hashes.SHA256()))
    return base64.b64encode(b"".join(map(_pem, ordered))).decode()
