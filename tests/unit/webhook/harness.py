"""The real webhook on 127.0.0.1 with real TLS, and AdmissionReviews to send to it.

Only the source of OperatorVersions is replaced, at its seam: `DictVersions` holds them in memory.
"""

import asyncio
import base64
import datetime as dt
import io
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kubeio.client import Client
from kudo.admission.tenancy import is_granted
from kudo.api import JsonObject, OperatorVersion
from kudo_webhook.app import Listening, serve_admission
from kudo_webhook.settings import Settings
from kudo_webhook.versions import VersionSource, VersionUnreadable, slim
from tests.support.loops.lacking import within

MUTATE = "/mutate-kudo-dev-v1beta1-instance"
VALIDATE = "/validate-kudo-dev-v1beta1-instance"
USER = "somebody"


@dataclass
class DictVersions:
    """OperatorVersions in memory."""

    versions: dict[tuple[str, str], OperatorVersion] = field(default_factory=dict)
    synced: bool = True
    broken: str = ""
    gate: asyncio.Event | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def get(
        self, namespace: str, name: str, grantee: str | None = None
    ) -> OperatorVersion | None:
        self.asked.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.broken:
            raise VersionUnreadable(namespace, name, self.broken)
        found = self.versions.get((namespace, name))
        if found is None or grantee is None:
            return found
        return found if is_granted(found.metadata.annotations, namespace, grantee) else None

    async def wire(
        self, namespace: str, name: str, grantee: str | None = None, *, whole: bool = False
    ) -> bytes | None:
        found = await self.get(namespace, name, grantee)
        if found is None:
            return None
        wire = found.to_wire()
        return orjson.dumps(wire if whole else slim(wire))


@dataclass
class Replaced:
    """OperatorVersions of the test that runs now, where several share a webhook."""

    source: VersionSource

    @property
    def synced(self) -> bool:
        return self.source.synced

    async def get(
        self, namespace: str, name: str, grantee: str | None = None
    ) -> OperatorVersion | None:
        return await self.source.get(namespace, name, grantee)

    async def wire(
        self, namespace: str, name: str, grantee: str | None = None, *, whole: bool = False
    ) -> bytes | None:
        return await self.source.wire(namespace, name, grantee, whole=whole)


def operator_version(**spec: Any) -> OperatorVersion:
    plans: JsonObject = {"deploy": {}, "update": {}, "cleanup": {}}
    parameters = [
        {"name": "REPLICAS", "default": "1", "value-type": "integer"},
        {"name": "PORT", "default": "80", "immutable": True},
    ]
    return OperatorVersion.from_wire(
        {
            "metadata": {"name": "first-1", "namespace": "ns"},
            "spec": {"version": "1", "plans": plans, "parameters": parameters, **spec},
        }
    )


def first_operator() -> DictVersions:
    return DictVersions({("ns", "first-1"): operator_version()})


def instance(parameters: dict[str, Any] | None = None, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": {"name": "i", "namespace": "ns"},
        "spec": {"operatorVersion": {"name": "first-1"}, "parameters": parameters or {}, **spec},
    }


def review(
    new: JsonObject, old: JsonObject | None = None, *, version: str = "v1", **request: Any
) -> JsonObject:
    return {
        "apiVersion": f"admission.k8s.io/{version}",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "kind": {"group": "kudo.dev", "version": "v1beta1", "kind": "Instance"},
            "resource": {"group": "kudo.dev", "version": "v1beta1", "resource": "instances"},
            "operation": "CREATE" if old is None else "UPDATE",
            "namespace": "ns",
            "name": "i",
            "object": new,
            "oldObject": old,
            "userInfo": {"username": USER},
            "dryRun": False,
            **request,
        },
    }


def patch_of(response: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = orjson.loads(base64.b64decode(response["patch"]))
    return found


# TLS


def write_pair(directory: Path, *, key_of_another: bool = False, days: int = 30) -> int:
    """Write tls.crt and tls.key for 127.0.0.1; return the serial number of the certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kudo-webhook")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    written = ec.generate_private_key(ec.SECP256R1()) if key_of_another else key
    (directory / "tls.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (directory / "tls.key").write_bytes(
        written.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate.serial_number


def any_certificate() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def served_serial(port: int, *, server_name: str | None = None) -> int:
    """Return the serial number of the certificate that a new connection is given."""
    _, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=any_certificate(), server_hostname=server_name or ""
    )
    try:
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return x509.load_der_x509_certificate(der).serial_number
    finally:
        writer.close()
        await writer.wait_closed()


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float = 30.0) -> None:
    """Wait until an async condition holds."""
    async with within(seconds, condition):
        while not await condition():  # noqa: ASYNC110 - files and sockets set no event
            await asyncio.sleep(0.01)


# The process under test


@dataclass
class Webhook:
    """A running webhook and a client for it."""

    session: aiohttp.ClientSession
    ports: Listening
    stop: asyncio.Event
    stopped: asyncio.Task[None]
    directory: Path

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.ports.port}"

    async def send(
        self, body: bytes, path: str = MUTATE, headers: dict[str, str] | None = None
    ) -> tuple[int, JsonObject]:
        async with self.session.post(
            self.url + path,
            data=io.BytesIO(body),
            headers={"content-type": "application/json"} | (headers or {}),
        ) as answer:
            return answer.status, orjson.loads(await answer.read())

    async def ask(self, request: JsonObject, path: str = MUTATE) -> JsonObject:
        """Send an AdmissionReview and return the response part of the answer."""
        status, answer = await self.send(orjson.dumps(request), path)
        assert status == 200, answer
        assert answer["kind"] == "AdmissionReview"
        assert answer["apiVersion"] == request["apiVersion"]
        assert answer["response"]["uid"] == request["request"]["uid"]
        response: JsonObject = answer["response"]
        return response

    async def probe(self, path: str) -> tuple[int, str]:
        url = f"http://127.0.0.1:{self.ports.probe_port}{path}"
        async with self.session.get(url) as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def running(
    directory: Path,
    versions: VersionSource | None = None,
    client: Client | None = None,
    **changed: Any,
) -> AsyncIterator[Webhook]:
    """Run the webhook on free ports, with `first_operator` unless told otherwise."""
    if not (directory / "tls.crt").exists():
        write_pair(directory)
    settings = Settings.read(
        ["--tls-cert", str(directory / "tls.crt"), "--tls-key", str(directory / "tls.key")], {}
    )
    loopback = {"host": "127.0.0.1", "port": 0, "probe_host": "127.0.0.1", "probe_port": 0}
    settings = replace(settings, **{**loopback, "drain_seconds": 0.0, "tls_poll": 0.02, **changed})
    stop, started = asyncio.Event(), asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(
            serve_admission(
                settings,
                versions or first_operator(),
                stop,
                client,
                on_started=started.set_result,
            )
        )
        connector = aiohttp.TCPConnector(ssl=any_certificate())
        async with aiohttp.ClientSession(connector=connector) as session:
            async with asyncio.timeout(10):
                ports = await started
            yield Webhook(session, ports, stop, task, directory)
        stop.set()


@asynccontextmanager
async def kept(
    directory: Path, versions: VersionSource | None = None, **changed: Any
) -> AsyncIterator[Webhook]:
    """Run the webhook in a task of its own: a fixture is left in another than it was entered in."""
    started: asyncio.Future[Webhook] = asyncio.get_running_loop().create_future()
    left = asyncio.Event()

    async def run() -> None:
        async with running(directory, versions, **changed) as webhook:
            started.set_result(webhook)
            await left.wait()

    task = asyncio.create_task(run())
    either: set[asyncio.Future[Any]] = {task, started}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if not started.done():
        await task
    try:
        yield await started
    finally:
        left.set()
        await task
