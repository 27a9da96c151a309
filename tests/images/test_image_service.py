"""The services start in their images before there is a cluster to reach, and stop when told to."""

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.images import archive as confined
from tools.images.archive import Archive

_SECONDS = 60
_KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "main",
    # Nobody listens on the discard port.
    "clusters": [{"name": "main", "cluster": {"server": "http://127.0.0.1:9"}}],
    "users": [{"name": "main", "user": {"token": "abc"}}],
    "contexts": [
        {"name": "main", "context": {"cluster": "main", "user": "main", "namespace": "kudo-system"}}
    ],
}
_OPTIONS = {"webhook": ["--certificate-secret=certificate", "--port=0"], "reconciler": []}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(url: str, pid: int, text: bytes = b"") -> None:
    """Wait until the body of an answer has a text."""
    last = "no answer"
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline and Path(f"/proc/{pid}").exists():
        try:
            with urllib.request.urlopen(url) as answer:
                body = answer.read()
            if text in body:
                return
            last = repr(body[-1000:])
        except urllib.error.URLError as error:
            last = str(error)
        time.sleep(0.01)
    raise AssertionError(f"{url} did not answer with {text!r}, but: {last}")


def status(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    lines = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in lines}


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in listed for child in path.read_text(encoding="ascii").split()]


def resident(*pids: int) -> float:
    """Return how many MiB processes use together."""
    return sum(int(status(pid)["VmRSS"].split()[0]) for pid in pids) / 1024


@pytest.mark.parametrize("archive", ["webhook", "reconciler"], indirect=True)
def test_a_service_is_alive_in_a_read_only_image_and_stops_on_a_signal(
    root: Path, archive: Archive, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    (root / "etc" / "kubeconfig").write_text(json.dumps(_KUBECONFIG))
    image, port = archive.image(), free_port()
    component = archive.path.stem.removeprefix("kudo-")
    program = [*image["config"]["Entrypoint"], "--kubeconfig=/etc/kubeconfig"]
    program += [f"--probe-port={port}", "--probe-host=127.0.0.1", *_OPTIONS[component]]
    log, begin = tmp_path / "log", time.monotonic()
    with confined.running(root, program, confined.environment(image), log) as pid:
        wait_for(f"http://127.0.0.1:{port}/healthz", pid)
        took = time.monotonic() - begin
        assert Path(f"/proc/{pid}").stat().st_uid == 65532
        # Nothing is writable here, and the worker processes that need no job start all the same.
        number = {"webhook": 2, "reconciler": 1}[component]
        line = f"\nkudo_worker_processes {number}.0\n"
        wait_for(f"http://127.0.0.1:{port}/metrics", pid, line.encode())
        workers = children(pid)
        assert len(workers) == number
        assert {status(worker)["Seccomp"] for worker in workers} == {"2"}
        sizes = f"{resident(pid):.0f} MiB and {resident(*workers):.0f} MiB of workers ({number})"
    said = log.read_text()
    assert "Traceback" not in said
    assert all(json.loads(line) for line in said.splitlines())
    figure(f"{component}: alive after {took:.2f} s, {sizes} resident")
