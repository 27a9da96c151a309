"""The options of the reconciler."""

from pathlib import Path

import pytest

from kubeio.leader_election.elector import LeaseTimes
from kudo.admission.tenancy import Tenancy
from kudo.api.watched import WatchedKinds
from kudo_reconciler.common.concurrency import Fairness, fairness_options
from kudo_reconciler.settings import Settings
from serving.settings import Share
from serving.worker_pool import WorkerSettings
from workers import Bounds


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
        watch=WatchedKinds(),
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
            "KUDO_RECONCILER_WATCH": "pods, jobs.batch,",
            "KUDO_RECONCILER_GRACE": "1.5",
            "KUDO_RECONCILER_LOG_LEVEL": "DEBUG",
            "KUDO_RECONCILER_LOG_STYLE": "text",
        },
    )
    lease = ("kudo-system", "blue", LeaseTimes(3.0, 2.0, 0.5))
    watch = WatchedKinds(frozenset({"pods", "jobs.batch"}))
    assert found == Settings(
        *(Path("/a/b"), 4, WorkerSettings(3, 256 << 20), "127.0.0.1", 0, *lease),
        *(1.0, 60.0, 5.0, "img", Tenancy.STRICT),
        *(watch, 1.5, "debug", "text"),
    )


def test_the_limits_of_namespaces_are_what_they_were() -> None:
    found = Settings.read([], {})
    assert found.fairness == Fairness(
        workers=None,
        operations=Share(64, 16),
        long_operations=Share(256, 64),
        run_events=Share(4000, 1000),
        other_events=Share(1000, 250),
        event_writers=Share(4, 3),
    )
    assert found.worker_processes.bounds == Bounds(512, 64, 64 << 20, 16 << 20)
    assert found.worker_processes.share is None


def test_each_limit_has_an_option_and_a_variable() -> None:
    names = [one.flag for one in fairness_options("X_")]
    assert len(names) == 11
    totals = {"--workers": "100", **{name: "50" for name in names if "namespace" not in name}}
    argv = [f"{name}={value}" for name, value in totals.items()]
    environ = {
        one.env: str(number)
        for number, one in enumerate(fairness_options("KUDO_RECONCILER_"), 2)
        if "namespace" in one.flag
    }
    shares = [Share(50, number) for number in (4, 6, 8, 10, 12)]
    assert Settings.read(argv, environ).fairness == Fairness(2, *shares)


def test_metrics_are_open_and_there_is_no_debug_port_unless_asked_for() -> None:
    found = Settings.read([], {})
    assert (found.metrics_auth, found.debug_port) == ("none", 0)
    argv = ["--metrics-auth=Token", "--debug-port=6060"]
    found = Settings.read(argv, {})
    assert (found.metrics_auth, found.debug_port) == ("token", 6060)


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
        (["--watch", "pods,secrets"], "secrets are never watched: leave them out"),
        (["--watch", " , "], "names no kind"),
        (["--watch", "pods,*"], "'*' is no kind; a kind is plural.group"),
        (["--watch", "secrets."], "'secrets.' is no kind"),
        (["--watch", "apps/v1"], "'apps/v1' is no kind"),
        (["--watch", "Secrets"], "'Secrets' is no kind"),
        (["--work", "1"], "--work"),
        (["--namespace-workers", "16"], "--namespace-workers (16) must be below --workers (16)"),
        (["--workers=1", "--namespace-workers=1"], "must be below --workers (1)"),
        (["--operations", "16"], "--namespace-operations (16) must be below --operations (16)"),
        (["--event-writers", "65"], "'65' is no whole number from 2 to 64"),
        (["--namespace-run-events", "0"], "'0' is no whole number from 1 to 100000"),
        (["--namespace-worker-jobs", "512"], "must be below --worker-jobs (512)"),
        (["--metrics-auth", "password"], "'password' is none of none, token"),
        (["--debug-port", "-1"], "'-1' is no port"),
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


# The key for digests of Secrets


def test_the_digest_key_is_what_the_file_holds_and_is_shown_nowhere(tmp_path: Path) -> None:
    path, key = tmp_path / "key", b"\n" + bytes(range(31))
    path.write_bytes(key)

    found = Settings.read([], {"KUDO_RECONCILER_DIGEST_KEY_FILE": str(path)})

    assert (found.digest_key_file, found.digest_key) == (path, key)
    assert "digest_key=" not in repr(found)


def test_there_is_no_digest_key_without_a_file(tmp_path: Path) -> None:
    missing = tmp_path / "key"

    found = Settings.read([f"--digest-key-file={missing}"], {})

    assert (found.digest_key_file, found.digest_key) == (missing, None)
    assert Settings.read(["--digest-key-file="], {}).digest_key_file is None


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"s3cr3t" * 5, "has 30 bytes, and a key has 32 to 4096; `openssl rand 32` prints one"),
        (b"", "has 0 bytes"),
        (b"s3cr3t" * 700, "has more than 4096 bytes"),
    ],
)
def test_what_is_no_digest_key_is_refused(
    content: bytes, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)

    with pytest.raises(SystemExit) as caught:
        Settings.read(["--digest-key-file", str(path)], {})

    written = capsys.readouterr().err
    assert caught.value.code == 2
    assert f"--digest-key-file: {path} {text}" in written
    assert "s3cr3t" not in written
    assert len(written.splitlines()) == 1


def test_a_digest_key_that_cannot_be_read_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        Settings.read(["--digest-key-file", str(tmp_path)], {})

    assert f"--digest-key-file: {tmp_path}: Is a directory" in capsys.readouterr().err
