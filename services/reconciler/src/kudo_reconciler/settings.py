"""The options of the reconciler."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from serving.logs import Style
from serving.settings import Option, log_level, log_style, parse, port, seconds

_PREFIX = "KUDO_RECONCILER_"


def _workers(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1000:
        raise ValueError(f"{text!r} is no number of workers from 1 to 1000")
    return int(text)


_OPTIONS = (
    Option("--kubeconfig", _PREFIX + "KUBECONFIG", "File that says how to reach the cluster."),
    Option(
        "--workers",
        _PREFIX + "WORKERS",
        "Instances that are worked on at the same time.",
        default=16,
        type=_workers,
    ),
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
        "--grace",
        _PREFIX + "GRACE",
        "Seconds that passes in progress get when the process is told to stop.",
        default=20.0,
        type=seconds,
    ),
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
        kubeconfig: None to find the cluster as kubectl does, or from inside it.
        grace: Seconds.
    """

    kubeconfig: Path | None
    workers: int
    probe_host: str
    probe_port: int
    grace: float
    log_level: str
    log_style: Style

    @classmethod
    def read(cls, argv: Sequence[str], environ: Mapping[str, str]) -> "Settings":
        """Read the options.

        Raises:
            SystemExit: an option is wrong, or `--help` was asked for.
        """
        values = vars(
            parse(
                _OPTIONS,
                prog="kudo-reconciler",
                description="Runs the plans of KUDO Instances.",
                argv=argv,
                environ=environ,
            )
        )
        kubeconfig = values.pop("kubeconfig")
        return cls(kubeconfig=Path(kubeconfig) if kubeconfig else None, **values)
