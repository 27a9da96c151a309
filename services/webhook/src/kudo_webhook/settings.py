"""The options of the webhook: flags, or environment variables KUDO_WEBHOOK_*."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from serving.logs import Style
from serving.settings import Option, log_level, log_style, parse, port, seconds

_ENV = "KUDO_WEBHOOK_"

OPTIONS = (
    Option("--host", _ENV + "HOST", "address of the admission listener", "0.0.0.0"),  # noqa: S104
    Option("--port", _ENV + "PORT", "port of the admission listener (TLS)", 9443, port),
    Option("--tls-cert", _ENV + "TLS_CERT", "serving certificate, PEM", type=Path, required=True),
    Option("--tls-key", _ENV + "TLS_KEY", "key of the certificate, PEM", type=Path, required=True),
    Option(
        "--tls-poll",
        _ENV + "TLS_POLL",
        "seconds between two looks at the files of the certificate",
        5.0,
        seconds,
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
        "--drain-seconds",
        _ENV + "DRAIN_SECONDS",
        "seconds between failing readiness and closing the listener when stopping",
        5.0,
        seconds,
    ),
    Option("--log-level", _ENV + "LOG_LEVEL", "debug, info, warning, error", "info", log_level),
    Option("--log-style", _ENV + "LOG_STYLE", "json or text", "json", log_style),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set; names are those of the flags, times are in seconds."""

    host: str
    port: int
    tls_cert: Path
    tls_key: Path
    tls_poll: float
    probe_host: str
    probe_port: int
    kubeconfig: Path | None
    request_deadline: float
    drain_seconds: float
    log_level: str
    log_style: Style

    @classmethod
    def read(cls, argv: Sequence[str], environ: Mapping[str, str]) -> "Settings":
        """Read the options.

        Raises:
            SystemExit: with code 2 if one is wrong or missing.
        """
        found = parse(
            OPTIONS,
            prog="kudo-webhook",
            description="Admission webhook of KUDO: judges changes of Instances.",
            argv=argv,
            environ=environ,
        )
        return cls(**vars(found))
