"""The options of the webhook: flags, or environment variables KUDO_WEBHOOK_*."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from kudo.admission.tenancy import Tenancy
from kudo_webhook.certificates.authority import Lifetimes, duration
from kudo_webhook.certificates.rotation import BuiltIn
from kudo_webhook.middleware import LIMIT as BODY_LIMIT
from serving.connections import PortLimits
from serving.logs import Style
from serving.namespaces import debug_option
from serving.settings import (
    Option,
    at_least,
    boolean,
    log_level,
    log_style,
    one_of,
    parse,
    port,
    refuse,
    seconds,
    some_seconds,
)
from serving.token_gate import MetricsAuth, metrics_auth_option
from serving.worker_pool import WorkerSettings, worker_options

_PROGRAM = "kudo-webhook"
_ENV = "KUDO_WEBHOOK_"
_LIMITS = PortLimits(request_bytes=2 * BODY_LIMIT)
_MODE = one_of(*(mode.value for mode in Tenancy))


def _tenancy(text: str) -> Tenancy:
    return Tenancy(_MODE(text))


OPTIONS = (
    Option("--host", _ENV + "HOST", "address of the admission listener", "0.0.0.0"),  # noqa: S104
    Option("--port", _ENV + "PORT", "port of the admission listener (TLS)", 9443, port),
    Option("--tls-cert", _ENV + "TLS_CERT", "serving certificate that you provide, PEM", type=Path),
    Option("--tls-key", _ENV + "TLS_KEY", "key of that certificate, PEM", type=Path),
    Option(
        "--tls-ca",
        _ENV + "TLS_CA",
        "authority of that certificate, PEM, for the caBundles that --register writes; needed "
        "if the file of --register has none",
        type=Path,
    ),
    Option(
        "--public-roots",
        _ENV + "PUBLIC_ROOTS",
        "true: that certificate is trusted by the root certificates of the API server's machine, "
        "and --register writes no caBundle",
        False,
        boolean,
    ),
    Option(
        "--client-ca",
        _ENV + "CLIENT_CA",
        "authority of client certificates, PEM: only clients with a certificate of it are "
        "answered; without it every client is",
        type=Path,
    ),
    Option(
        "--tls-poll",
        _ENV + "TLS_POLL",
        "seconds between two checks of the files of the certificate and of the client CA",
        5.0,
        seconds,
    ),
    Option(
        "--certificate-secret",
        _ENV + "CERTIFICATE_SECRET",
        "instead of files: name of the Secret that keeps a certificate made and renewed by the "
        "webhook itself; its authority is kept in NAME-ca",
    ),
    Option(
        "--certificate-namespace",
        _ENV + "CERTIFICATE_NAMESPACE",
        "namespace of these Secrets and of the Service; else that of the webhook",
    ),
    Option(
        "--service-name",
        _ENV + "SERVICE_NAME",
        "name of the Service that the API server calls, for the names in that certificate",
        "kudo-webhook",
    ),
    Option(
        "--webhook-configuration",
        _ENV + "WEBHOOK_CONFIGURATION",
        "name of both webhook configurations, whose caBundle is kept",
        "kudo-instance-admission",
    ),
    Option(
        "--register",
        _ENV + "REGISTER",
        "JSON file with the webhooks of both configurations, which are filled in once the webhook "
        "can be reached; without it, whoever installs the webhook registers it",
        type=Path,
    ),
    Option(
        "--leaf-lifetime",
        _ENV + "LEAF_LIFETIME",
        "lifetime of that certificate, such as 90d or 12h; renewed after two thirds of it",
        timedelta(days=90),
        duration,
    ),
    Option(
        "--ca-lifetime",
        _ENV + "CA_LIFETIME",
        "lifetime of its authority; replaced after 80 % of it, then both are trusted for a while",
        timedelta(days=730),
        duration,
    ),
    Option("--probe-host", _ENV + "PROBE_HOST", "address of the probe listener", "0.0.0.0"),  # noqa: S104
    Option("--probe-port", _ENV + "PROBE_PORT", "port of probes and metrics (HTTP)", 8081, port),
    Option(
        "--kubeconfig",
        _ENV + "KUBECONFIG",
        "how to reach the API server; else $KUBECONFIG, ~/.kube/config or the service account",
        type=Path,
    ),
    Option(
        "--request-deadline",
        _ENV + "REQUEST_DEADLINE",
        "seconds to answer a request in; keep it below timeoutSeconds of the configurations",
        8.0,
        seconds,
    ),
    Option(
        "--tenancy",
        _ENV + "TENANCY",
        "strict: an OperatorVersion of another namespace has to be granted, and OperatorVersions "
        "are reviewed. compat: neither; a missing grant is a warning",
        Tenancy.COMPAT,
        _tenancy,
    ),
    *worker_options(_ENV),
    Option(
        "--head-seconds",
        _ENV + "HEAD_SECONDS",
        "seconds for the TLS handshake, and again for the headers of a request",
        _LIMITS.head,
        some_seconds,
    ),
    Option(
        "--body-seconds",
        _ENV + "BODY_SECONDS",
        "seconds for the body of a request",
        _LIMITS.body,
        some_seconds,
    ),
    Option(
        "--max-connections",
        _ENV + "MAX_CONNECTIONS",
        "connections to the admission listener at a time; a new one beyond that closes the oldest "
        "incomplete one",
        _LIMITS.connections,
        at_least(16),
    ),
    Option(
        "--max-body-bytes",
        _ENV + "MAX_BODY_BYTES",
        "bytes of the bodies of all requests at a time; half of them for the beginnings of bodies",
        _LIMITS.held_bytes,
        at_least(4 * BODY_LIMIT),
    ),
    Option(
        "--drain-seconds",
        _ENV + "DRAIN_SECONDS",
        "seconds between failing readiness and closing the listener when stopping",
        5.0,
        seconds,
    ),
    metrics_auth_option(_ENV),
    debug_option(_ENV),
    Option("--log-level", _ENV + "LOG_LEVEL", "debug, info, warning, error", "info", log_level),
    Option("--log-style", _ENV + "LOG_STYLE", "json or text", "json", log_style),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The options by the names of their flags; times are in seconds.

    Attributes:
        tls_files: The certificate and its key; None with built-in certificates.
        built_in: The options of built-in certificates; None with files.
        tls_ca: The authority for the caBundles of `register`; None with built-in certificates.
        public_roots: Whether webhooks are registered without a caBundle.
        client_ca: The authority of clients; None if they are not verified.
        register: The file with the webhooks to register; None if somebody else registers them.
        worker_processes: Number and memory of the worker processes.
        limits: What a client of the admission listener may take.
        metrics_auth: Whether /metrics asks for a token.
        debug_port: 0 for no listener.
    """

    host: str
    port: int
    tls_files: tuple[Path, Path] | None
    built_in: BuiltIn | None
    tls_ca: Path | None
    public_roots: bool
    client_ca: Path | None
    tls_poll: float
    service_name: str
    webhook_configuration: str
    register: Path | None
    probe_host: str
    probe_port: int
    kubeconfig: Path | None
    request_deadline: float
    tenancy: Tenancy
    worker_processes: WorkerSettings
    limits: PortLimits
    drain_seconds: float
    log_level: str
    log_style: Style
    metrics_auth: MetricsAuth = "none"
    debug_port: int = 0

    @classmethod
    def read(cls, argv: Sequence[str], environ: Mapping[str, str]) -> "Settings":
        """Read the options.

        Raises:
            SystemExit: with code 2 if one is wrong or missing, or if they contradict each other.
        """
        values = vars(
            parse(
                OPTIONS,
                prog=_PROGRAM,
                description="Admission webhook of KUDO: judges changes of Instances.",
                argv=argv,
                environ=environ,
            )
        )
        try:
            worker_processes = WorkerSettings.take(values)
            files, built_in = _tls_files(values), _built_in(values)
        except ValueError as error:
            refuse(_PROGRAM, str(error))
        if (files is None) == (built_in is None):
            refuse(_PROGRAM, "give either --tls-cert and --tls-key, or --certificate-secret")
        if built_in is not None and values["public_roots"]:
            refuse(_PROGRAM, "--public-roots needs --tls-cert: no root signs built-in certificates")
        return cls(
            tls_files=files,
            built_in=built_in,
            worker_processes=worker_processes,
            limits=_limits(values),
            **values,
        )


def _limits(values: dict[str, Any]) -> PortLimits:
    head = values.pop("head_seconds")
    return replace(
        _LIMITS,
        handshake=head,
        head=head,
        body=values.pop("body_seconds"),
        connections=values.pop("max_connections"),
        held_bytes=values.pop("max_body_bytes"),
    )


def _tls_files(values: dict[str, Any]) -> tuple[Path, Path] | None:
    certificate, key = values.pop("tls_cert"), values.pop("tls_key")
    if (certificate is None) != (key is None):
        raise ValueError("--tls-cert and --tls-key belong together")
    return None if certificate is None else (certificate, key)


def _built_in(values: dict[str, Any]) -> BuiltIn | None:
    lifetimes = Lifetimes(authority=values.pop("ca_lifetime"), leaf=values.pop("leaf_lifetime"))
    built_in = BuiltIn(
        secret=values.pop("certificate_secret"),
        namespace=values.pop("certificate_namespace"),
        service=values["service_name"],
        configuration=values["webhook_configuration"],
        lifetimes=lifetimes,
    )
    return built_in if built_in.secret else None
