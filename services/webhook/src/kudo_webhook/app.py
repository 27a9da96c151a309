"""Builds the parts of the webhook, runs them, and stops them in order.

Stopping: readiness fails first, and each kept connection is closed with its next answer. After
`drain_seconds`, in which load balancers stop sending requests, the admission listener closes and
requests in flight finish. The probe listener closes last.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial

from kubeio.client import Client
from kubeio.connection.service import service_config
from kubeio.token_review import METRICS, TokenReviewer
from kudo.admission.tenancy import Tenancy
from kudo_webhook.certificates.authority import pem
from kudo_webhook.certificates.files import ClientAuthority, Files
from kudo_webhook.certificates.rotation import Keeper
from kudo_webhook.certificates.served import Served
from kudo_webhook.metrics import MUTATE, OPERATOR_VERSION, VALIDATE, Metrics
from kudo_webhook.registration import Place, Registration, Webhooks
from kudo_webhook.routes import Admission, build_app
from kudo_webhook.settings import Settings
from kudo_webhook.versions import InformedVersions, VersionSource
from serving.connections import Connections
from serving.event_loop import follow_turns
from serving.namespaces import serve_debug
from serving.probes import Probes
from serving.server import serve, serve_probes
from serving.token_gate import TokenGate
from serving.worker_pool import WorkerUsage, build_pool

log = logging.getLogger(__name__)

HANDLERS = "kudo.jobs.review"
"""Module with the handlers of the worker processes."""
STRICT_HANDLERS = "kudo.jobs.version"
"""Those of strict mode, which need the template engine, too."""

_LOOKUP_SHARE = 0.75
"""Part of the deadline that a read of the API server may take, so that the answer can name it."""


@dataclass(frozen=True, slots=True)
class Listening:
    """The ports that are listened on."""

    port: int
    probe_port: int


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """Run the webhook against the cluster until `stop` is set.

    Raises:
        kubeio.errors.ConfigError: no cluster can be found.
        ExceptionGroup: a part failed, such as a listener (`serving.server.ListenError`).
    """
    config = await service_config(settings.kubeconfig, user_agent="kudo-webhook")
    async with Client(config) as client, asyncio.TaskGroup() as group:
        source = InformedVersions(client, timeout=settings.request_deadline * _LOOKUP_SHARE)
        informer = group.create_task(source.run(), name="informer of OperatorVersions")
        await serve_admission(settings, source, stop, client)
        # Last: requests that were in flight until now need its cache.
        informer.cancel()


async def serve_admission(
    settings: Settings,
    source: VersionSource,
    stop: asyncio.Event,
    client: Client | None = None,
    *,
    on_started: Callable[[Listening], None] | None = None,
) -> None:
    """Serve the admission routes and the probes until `stop` is set, then drain.

    Args:
        settings: The options.
        source: Where OperatorVersions are found.
        stop: Ends it.
        client: Access to the API server; built-in certificates and tokens for metrics need it.
        on_started: Called once both listeners accept connections.

    Raises:
        registration.Unreadable: the file of `--register` cannot be used.
        ExceptionGroup: a part failed, such as a listener (`serving.server.ListenError`).
    """
    webhooks = Webhooks.read(settings.register) if settings.register else None
    certificate = Served(verify_clients=settings.client_ca is not None)
    clients = ClientAuthority(certificate, settings.client_ca) if settings.client_ca else None
    metrics = Metrics((MUTATE, VALIDATE, OPERATOR_VERSION), lambda: certificate.expiry)
    follow_turns(metrics.registry)
    connections = Connections(settings.limits, metrics.connection_closed)
    metrics.follow(connections)
    probes = _probes(source, certificate, clients)
    handlers = STRICT_HANDLERS if settings.tenancy is Tenancy.STRICT else HANDLERS
    usage = WorkerUsage()
    pool = build_pool(handlers, settings.worker_processes, metrics.registry, probes, usage)
    admission = Admission(
        source,
        pool,
        metrics,
        deadline=settings.request_deadline,
        fresh_uid=lambda: str(uuid.uuid4()),
        tenancy=settings.tenancy,
    )
    closing, closed = asyncio.Event(), asyncio.Event()
    ports: dict[str, int] = {}

    def listening(name: str, port: int) -> None:
        ports[name] = port
        if len(ports) == 2:
            log.info("listening", extra=ports)
            if on_started is not None:
                on_started(Listening(**ports))

    async with asyncio.TaskGroup() as group:
        working = group.create_task(pool.run(), name="worker processes")
        renewing = _renewing(settings, client, certificate, metrics, webhooks)
        following = [group.create_task(await renewing, name="certificate")]
        if clients is not None:
            following.append(group.create_task(clients.watch(settings.tls_poll), name="client CA"))
        registration = _registering(settings, client, certificate, probes, webhooks)
        registering = group.create_task(registration, name="registration")
        group.create_task(
            serve_probes(
                probes,
                metrics.registry,
                host=settings.probe_host,
                port=settings.probe_port,
                stop=closed,
                on_started=partial(listening, "probe_port"),
                gate=_gate(settings, client),
            ),
            name="probe listener",
        )
        group.create_task(
            serve_debug(lambda: usage.measures(pool), port=settings.debug_port, stop=closed),
            name="debug listener",
        )
        listener = group.create_task(
            serve(
                build_app(admission),
                host=settings.host,
                port=settings.port,
                ssl=certificate.context,
                stop=closing,
                grace=settings.request_deadline,
                connections=connections,
                on_started=partial(listening, "port"),
            ),
            name="admission listener",
        )
        await stop.wait()
        # Readiness fails first, so that load balancers stop sending before the port closes.
        probes.draining = True
        admission.draining = True
        registering.cancel()
        log.info("draining", extra={"seconds": settings.drain_seconds})
        await asyncio.sleep(settings.drain_seconds)
        closing.set()
        await listener
        # Requests in flight may have needed the workers until now.
        working.cancel()
        closed.set()
        for task in following:
            task.cancel()


def _gate(settings: Settings, client: Client | None) -> TokenGate | None:
    """Return what asks for a token for metrics, if it is set."""
    if settings.metrics_auth == "none":
        return None
    assert client is not None
    return TokenGate(TokenReviewer(client, METRICS))


async def _renewing(
    settings: Settings,
    client: Client | None,
    served: Served,
    metrics: Metrics,
    webhooks: Webhooks | None,
) -> Coroutine[None, None, None]:
    """Return the coroutine that renews the certificate; one in files has been loaded before."""
    if settings.tls_files is not None:
        needed = webhooks is not None and not webhooks.bundled and not settings.public_roots
        authority = settings.tls_ca
        files = Files(served, *settings.tls_files, authority=authority, authority_needed=needed)
        await asyncio.to_thread(files.refresh)
        return files.watch(settings.tls_poll)
    assert client is not None
    assert settings.built_in is not None
    keeper = Keeper(
        client,
        settings.built_in,
        namespace=client.config.namespace,
        serve=lambda leaf: served.load_pem(
            leaf.certificate_pem, leaf.key_pem, issuer=pem(leaf.issuer)
        ),
        on_write=metrics.certificate_written,
        on_failure=metrics.certificate_failed,
    )
    return keeper.run()


async def _registering(
    settings: Settings,
    client: Client | None,
    certificate: Served,
    probes: Probes,
    webhooks: Webhooks | None,
) -> None:
    """Register the webhooks until cancelled, if `--register` is set."""
    if webhooks is None:
        return
    assert client is not None
    place = Place(client.config.namespace, settings.service_name, settings.webhook_configuration)
    registration = Registration(
        client,
        webhooks,
        place,
        ready=lambda: not probes.not_ready(),
        authority=lambda: certificate.issuer,
        public_roots=settings.public_roots,
    )
    await registration.run()


def _probes(source: VersionSource, certificate: Served, clients: ClientAuthority | None) -> Probes:
    probes = Probes()
    probes.add("operatorversions", lambda: source.synced or "the cache is not synced")
    probes.add(
        "certificate",
        # With the reason, if there is one: a pair that cannot be used is refused in the log alone.
        lambda: (
            certificate.loaded
            or ": ".join(filter(None, ["no certificate is loaded", certificate.problem]))
        ),
    )
    if clients is not None:
        probes.add("client CA", lambda: clients.problem or True)
    return probes
