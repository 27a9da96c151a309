"""The options of the reconciler."""

from pathlib import Path

import pytest

from kubeio.leader_election.elector import LeaseTimes
from kudo.tenancy import Tenancy
from kudo_reconciler.settings import Settings
from serving.worker_pool import WorkerSettings


def test_without_anything_the_defaults_stand() -> None:
    assert Settings.read([], {}) == Settings(
        kubeconfig=None,
        workers=16,
        worker_processes=WorkerSettings(processes=2, memory=192 << 20),
        probe_host="0.0.0.0",
        probe_port=8080,
        lease_namespace=None,
        lease_name="kudo-reconciler",
        lease_times=LeaseTimes(15.0, 10.0, 2.0),
        call_timeout=30.0,
        watch_silence=200.0,
        recheck=60.0,
        pipe_waiter_image="busybox",
        tenancy=Tenancy.COMPAT,
        grace=20.0,
        log_level="info",
        log_style="json",
    )


def test_every_option_has_a_variable() -> None:
    found = Settings.read(
        [],
        {
            "KUDO_RECONCILER_KUBECONFIG": "/a/b",
            "KUDO_RECONCILER_WORKERS": "4",
            "KUDO_RECONCILER_WORKER_PROCESSES": "3",
            "KUDO_RECONCILER_WORKER_MEMORY": "256Mi",
            "KUDO_RECONCILER_PROBE_HOST": "127.0.0.1",
            "KUDO_RECONCILER_PROBE_PORT": "0",
            "KUDO_RECONCILER_LEASE_NAMESPACE": "kudo-system",
            "KUDO_RECONCILER_LEASE_NAME": "blue",
            "KUDO_RECONCILER_LEASE_DURATION": "3",
            "KUDO_RECONCILER_LEASE_RENEW_DEADLINE": "2",
            "KUDO_RECONCILER_LEASE_RETRY": "0.5",
            "KUDO_RECONCILER_CALL_TIMEOUT": "1",
            "KUDO_RECONCILER_WATCH_SILENCE": "60",
            "KUDO_RECONCILER_RECHECK": "5",
            "KUDO_RECONCILER_PIPE_WAITER_IMAGE": "img",
            "KUDO_RECONCILER_TENANCY": "Strict",
            "KUDO_RECONCILER_GRACE": "1.5",
            "KUDO_RECONCILER_LOG_LEVEL": "DEBUG",
            "KUDO_RECONCILER_LOG_STYLE": "text",
        },
    )
    lease = ("kudo-system", "blue", LeaseTimes(3.0, 2.0, 0.5))
    assert found == Settings(
        *(Path("/a/b"), 4, WorkerSettings(3, 256 << 20), "127.0.0.1", 0, *lease),
        *(1.0, 60.0, 5.0, "img", Tenancy.STRICT, 1.5, "debug", "text"),
    )


def test_a_flag_wins_over_its_variable() -> None:
    found = Settings.read(["--workers", "2", "--grace=0"], {"KUDO_RECONCILER_WORKERS": "3"})
    assert (found.workers, found.grace) == (2, 0.0)


def test_an_empty_kubeconfig_is_none() -> None:
    assert Settings.read(["--kubeconfig", ""], {}).kubeconfig is None
    assert Settings.read([], {"KUDO_RECONCILER_KUBECONFIG": ""}).kubeconfig is None


@pytest.mark.parametrize("workers", ["1", "1000", "016"])
def test_a_number_of_workers_within_bounds_is_taken(workers: str) -> None:
    assert Settings.read(["--workers", workers], {}).workers == int(workers)


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["--workers", "0"], "'0' is not a number of workers from 1 to 1000"),
        (["--workers", "1001"], "'1001' is not a number of workers"),
        (["--workers=-1"], "'-1' is not a number of workers"),
        (["--workers", "1.0"], "'1.0' is not a number of workers"),
        (["--workers", "\u0663"], "is not a number of workers"),
        (["--workers", "\u00b2"], "is not a number of workers"),
        (["--workers", ""], "'' is not a number of workers"),
        (["--probe-port", "65536"], "'65536' is no port"),
        (["--call-timeout", "0"], "must be more than 0 seconds"),
        (["--lease-duration", "soon"], "'soon' is no number of seconds"),
        (["--lease-duration", "5"], "must be more than the renew deadline (10 s)"),
        (["--grace", "inf"], "'inf' is no number of seconds"),
        (["--log-level", "loud"], "'loud' is none of debug, info, warning, error"),
        (["--log-style", "xml"], "'xml' is none of json, text"),
        (["--work", "1"], "--work"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(
    argv: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        Settings.read(argv, {})
    written = capsys.readouterr().err
    assert caught.value.code == 2
    assert text in written
    assert len(written.splitlines()) == 1
