"""The options of the reconciler."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kubeio.leader_election.elector import LeaseTimes
from kudo.admission.tenancy import Tenancy
from kudo.api.watched import WatchedKinds
from kudo_reconciler.common.concurrency import USUAL, Fairness, fairness_options
from serving.logs import Style
from serving.namespaces import debug_option
from serving.settings import Option, log_level, log_style, one_of, parse, port, refuse, seconds
from serving.token_gate import MetricsAuth, metrics_auth_option
from serving.worker_pool import WorkerSettings, worker_options

_PROGRAM = "kudo-reconciler"
_PREFIX = "KUDO_RECONCILER_"
_SHORTEST_KEY: Final = 32
"""Bytes of a digest key: as many as the digest that it is used with."""
_LONGEST_KEY: Final = 4096
_MODE = one_of(*(mode.value for mode in Tenancy))


def _workers(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1000:
        raise ValueError(f"{text!r} is not a number of workers from 1 to 1000")
    return int(text)


def _tenancy(text: str) -> Tenancy:
    return Tenancy(_MODE(text))


def _some_seconds(text: str) -> float:
    value = seconds(text)
    if value == 0:
        raise ValueError("must be more than 0 seconds")
    return value


_OPTIONS = (
    Option("--kubeconfig", _PREFIX + "KUBECONFIG", "Path of the kubeconfig file."),
    Option(
        "--workers",
        _PREFIX + "WORKERS",
        "Instances reconciled at the same time.",
        default=16,
        type=_workers,
    ),
    *worker_options(_PREFIX),
    Option(
        "--probe-host",
        _PREFIX + "PROBE_HOST",
        "Address of probes and metrics.",
        default="0.0.0.0",  # noqa: S104 - a pod is reached by its own address
    ),
    Option(
        "--probe-port",
        _PREFIX + "PROBE_PORT",
        "Port of /healthz, /readyz and /metrics.",
        default=8080,
        type=port,
    ),
    Option(
        "--lease-namespace",
        _PREFIX + "LEASE_NAMESPACE",
        "Namespace of the Lease for leader election; by default the pod's own, or that of the "
        "kubeconfig's context.",
    ),
    Option(
        "--lease-name",
        _PREFIX + "LEASE_NAME",
        "Name of the Lease.",
        default="kudo-reconciler",
    ),
    Option(
        "--lease-duration",
        _PREFIX + "LEASE_DURATION",
        "Seconds without a renewal after which another replica becomes the leader.",
        default=15.0,
        type=_some_seconds,
    ),
    Option(
        "--lease-renew-deadline",
        _PREFIX + "LEASE_RENEW_DEADLINE",
        "Seconds after which a leader stops leading if it could not renew the Lease, or if its "
        "event loop is blocked.",
        default=10.0,
        type=_some_seconds,
    ),
    Option(
        "--lease-retry",
        _PREFIX + "LEASE_RETRY",
        "Seconds between attempts to acquire or renew the Lease.",
        default=2.0,
        type=_some_seconds,
    ),
    Option(
        "--call-timeout",
        _PREFIX + "CALL_TIMEOUT",
        "Timeout of one request to the API server, in seconds.",
        default=30.0,
        type=_some_seconds,
    ),
    Option(
        "--watch-silence",
        _PREFIX + "WATCH_SILENCE",
        "Seconds without data after which a watch is considered dead and is restarted.",
        default=200.0,
        type=_some_seconds,
    ),
    Option(
        "--recheck",
        _PREFIX + "RECHECK",
        "Seconds after which a waiting run is reconciled again, with everything read from the API "
        "server, in case an event was lost.",
        default=60.0,
        type=_some_seconds,
    ),
    Option(
        "--pipe-waiter-image",
        _PREFIX + "PIPE_WAITER_IMAGE",
        "Image of the container that keeps the files of a Pipe task until they are copied; it "
        "needs sh, sleep, stat and cat.",
        default="busybox",
    ),
    Option(
        "--tenancy",
        _PREFIX + "TENANCY",
        "strict: plans act as a ServiceAccount of their Instance's namespace. compat: they act as "
        "the reconciler unless their Instance names a ServiceAccount.",
        default=Tenancy.COMPAT,
        type=_tenancy,
    ),
    Option(
        "--watch",
        _PREFIX + "WATCH",
        "Kinds that are watched with --tenancy=strict, as plural.group separated by commas; others "
        "are read by name. Never secrets. With compat all kinds that plans apply are watched.",
        default=WatchedKinds(),
        type=WatchedKinds.read,
    ),
    Option(
        "--grace",
        _PREFIX + "GRACE",
        "Seconds that reconciles in progress get to finish when the process stops.",
        default=20.0,
        type=seconds,
    ),
    Option(
        "--digest-key-file",
        _PREFIX + "DIGEST_KEY_FILE",
        "File with a secret of 32 bytes or more, for the digests of Secrets in Inventories; "
        "without one, Secrets have no digest.",
    ),
    *fairness_options(_PREFIX),
    metrics_auth_option(_PREFIX),
    debug_option(_PREFIX),
    Option(
        "--log-level",
        _PREFIX + "LOG_LEVEL",
        "debug, info, warning or error.",
        default="info",
        type=log_level,
    ),
    Option("--log-style", _PREFIX + "LOG_STYLE", "json or text.", default="json", type=log_style),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The options, as given by flags, environment and defaults.

    Attributes:
        worker_processes: The processes that read and render what tenants send.
        kubeconfig: None to find the cluster as kubectl does, or the one that the pod runs in.
        lease_namespace: None for the namespace of the pod or of the kubeconfig's context.
        call_timeout: Seconds.
        watch_silence: Seconds.
        recheck: Seconds.
        watch: The kinds that may be watched in strict mode.
        grace: Seconds.
        digest_key_file: As given, whether or not it exists.
        digest_key: Its content; None if there is no file.
        metrics_auth: Whether /metrics asks for a token.
        debug_port: 0 for no listener.
        fairness: What one namespace may have.
    """

    kubeconfig: Path | None
    workers: int
    worker_processes: WorkerSettings
    probe_host: str
    probe_port: int
    lease_namespace: str | None
    lease_name: str
    lease_times: LeaseTimes
    call_timeout: float
    watch_silence: float
    recheck: float
    pipe_waiter_image: str
    tenancy: Tenancy
    watch: WatchedKinds
    grace: float
    log_level: str
    log_style: Style
    digest_key_file: Path | None = None
    digest_key: bytes | None = field(default=None, repr=False)
    metrics_auth: MetricsAuth = "none"
    debug_port: int = 0
    fairness: Fairness = USUAL

    @classmethod
    def read(cls, argv: Sequence[str], environ: Mapping[str, str]) -> "Settings":
        """Parse the options.

        Raises:
            SystemExit: an option is invalid, or `--help` was given.
        """
        values = vars(
            parse(
                _OPTIONS,
                prog=_PROGRAM,
                description="Runs the plans of KUDO Instances.",
                argv=argv,
                environ=environ,
            )
        )
        kubeconfig, key_file = values.pop("kubeconfig"), values.pop("digest_key_file")
        try:
            workers, fairness = WorkerSettings.take(values), Fairness.take(values)
            key = read_digest_key(Path(key_file)) if key_file else None
        except ValueError as error:
            refuse(_PROGRAM, str(error))
        return cls(
            kubeconfig=Path(kubeconfig) if kubeconfig else None,
            lease_times=_lease_times(values),
            worker_processes=workers,
            fairness=fairness,
            digest_key_file=Path(key_file) if key_file else None,
            digest_key=key,
            **values,
        )


def _lease_times(values: dict[str, Any]) -> LeaseTimes:
    names = ("lease_duration", "lease_renew_deadline", "lease_retry")
    try:
        return LeaseTimes(*(values.pop(name) for name in names))
    except ValueError as error:
        refuse(_PROGRAM, str(error))


def read_digest_key(path: Path) -> bytes | None:
    """Return the content of a file as it is; None if there is no file.

    A missing file is no error: the Secret that is mounted there may not exist yet.

    Raises:
        ValueError: it cannot be read, or is no key; the text has nothing of its content.
    """
    option = f"--digest-key-file: {path}"
    try:
        with path.open("rb") as file:
            key = file.read(_LONGEST_KEY + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"{option}: {error.strerror}") from None
    if not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY:
        size = f"more than {_LONGEST_KEY}" if len(key) > _LONGEST_KEY else str(len(key))
        text = f"has {size} bytes, and a key has {_SHORTEST_KEY} to {_LONGEST_KEY}"
        raise ValueError(f"{option} {text}; `openssl rand 32` prints one")
    return key
