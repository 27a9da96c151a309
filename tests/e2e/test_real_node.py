"""A real node does what the tests that follow rely on: containers run and can be reached."""

import contextlib
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from kudo_cluster import Cluster
from kudo_cluster.programs import images
from tests.e2e.objects import (
    container,
    headless_service,
    job,
    pod,
    server,
    service,
    stateful_set,
)
from tests.support.cluster.kubectl import Kubectl

_PATIENCE = 60.0
_POLL = 0.1


def _until(attempt: Callable[[], bytes], expected: bytes) -> None:
    """Try until the answer is there: a new Service takes kube-proxy a moment."""
    deadline = time.monotonic() + _PATIENCE
    answer = b""
    while answer != expected:
        assert time.monotonic() < deadline, f"not {expected!r} but {answer!r}"
        time.sleep(_POLL)
        try:
            answer = attempt()
        except OSError as error:
            answer = str(error).encode()


def _fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=2) as answer:
        return bytes(answer.read())


def _binary(kubectl: Kubectl, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    command = [
        str(kubectl.cluster.binary("kubectl")),
        f"--kubeconfig={kubectl.cluster.kubeconfig('admin')}",
        f"--namespace={kubectl.namespace}",
        f"--cache-dir={kubectl.cache}",
    ]
    return subprocess.run([*command, *arguments], capture_output=True)


def _lookup(kubectl: Kubectl, where: str, name: str) -> bytes:
    """Return the address of a name as a pod sees it, empty without one."""
    found = kubectl.run("exec", where, "--", "nslookup", name).stdout
    # Before the name stands the address of the server.
    _, _, answer = found.partition("Name:")
    return answer.partition("Address:")[2].split("\n")[0].strip().encode()


def _address(kubectl: Kubectl, name: str) -> str:
    return str(kubectl.get(f"service/{name}")["spec"]["clusterIP"])


def test_a_container_runs_and_its_output_can_be_read(kubectl: Kubectl) -> None:
    kubectl.apply(pod("hello", "sh", "-c", "echo from $(hostname); exit 0"))
    kubectl.wait("jsonpath={.status.phase}=Succeeded", "pod/hello")
    assert kubectl("logs", "hello") == "from hello\n"


def test_a_job_completes(kubectl: Kubectl) -> None:
    kubectl.apply(job("fine", ["true"]))
    kubectl.wait("condition=Complete", "job/fine")


def test_a_job_whose_container_fails_fails(kubectl: Kubectl) -> None:
    kubectl.apply(job("broken", ["sh", "-c", "exit 3"]))
    kubectl.wait("condition=Failed", "job/broken")
    (found,) = kubectl.get("pods")["items"]
    (status,) = found["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 3


def test_exec_gives_every_byte_back(kubectl: Kubectl) -> None:
    kubectl.apply(pod("bytes", "sleep", "infinity"))
    kubectl.wait("condition=Ready", "pod/bytes")
    write = r"for i in 0 1 2 3; do for j in 0 1 2 3 4 5 6 7; do for k in 0 1 2 3 4 5 6 7; do "
    write += r"printf \\$i$j$k; done; done; done"
    done = _binary(kubectl, "exec", "bytes", "--", "sh", "-c", write)
    assert (done.returncode, done.stdout) == (0, bytes(range(256)))


def test_exec_gives_the_exit_code_and_both_streams(kubectl: Kubectl) -> None:
    kubectl.apply(pod("codes", "sleep", "infinity"))
    kubectl.wait("condition=Ready", "pod/codes")
    done = kubectl.run("exec", "codes", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout) == (7, "out\n")
    assert done.stderr.splitlines()[0] == "err"


def test_files_of_an_init_container_reach_the_next_one(kubectl: Kubectl) -> None:
    mounts = [{"name": "shared", "mountPath": "/shared"}]
    first = {**container("sh", "-c", "echo made > /shared/file"), "name": "first"}
    found = pod(
        "steps", "cat", "/shared/file",
        initContainers=[{**first, "volumeMounts": mounts}],
        volumes=[{"name": "shared", "emptyDir": {}}],
    )  # fmt: skip
    found["spec"]["containers"][0]["volumeMounts"] = mounts
    kubectl.apply(found)
    kubectl.wait("jsonpath={.status.phase}=Succeeded", "pod/steps")
    assert kubectl("logs", "steps") == "made\n"


def test_a_failing_init_container_fails_its_pod(kubectl: Kubectl) -> None:
    first = {**container("sh", "-c", "exit 4"), "name": "first"}
    kubectl.apply(pod("stuck", "true", initContainers=[first]))
    kubectl.wait("jsonpath={.status.phase}=Failed", "pod/stuck")
    (status,) = kubectl.get("pod/stuck")["status"]["initContainerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 4


def test_a_service_answers_this_machine(kubectl: Kubectl) -> None:
    kubectl.apply(server("web", "from the node"))
    kubectl.apply(service("web"))
    kubectl.wait("condition=Ready", "pod/web")
    url = f"http://{_address(kubectl, 'web')}/"
    _until(lambda: _fetch(url), b"from the node\n")


def test_a_service_answers_other_pods_and_its_own(kubectl: Kubectl) -> None:
    kubectl.apply(server("web", "from a pod"))
    kubectl.apply(service("web"))
    kubectl.apply(pod("client", "sleep", "infinity"))
    kubectl.wait("condition=Ready", "pod/web", "pod/client")
    fetch = ["wget", "-q", "-O", "-", f"http://{_address(kubectl, 'web')}/"]
    for asking in ("client", "web"):
        _until(
            lambda name=asking: _binary(kubectl, "exec", name, "--", *fetch).stdout,  # type: ignore[misc]
            b"from a pod\n",
        )


def test_a_pod_reaches_the_api_server_through_its_service(kubectl: Kubectl) -> None:
    kubectl.apply(pod("client", "sleep", "infinity"))
    kubectl.wait("condition=Ready", "pod/client")
    ask = "wget -q -O - http://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/"
    # Plain text is not what it speaks, and that it says so shows that it is there.
    done = kubectl.run("exec", "client", "--", "sh", "-c", ask)
    assert "HTTP/1.0 400 Bad Request" in done.stderr


def test_a_pod_reaches_nothing_beyond_this_machine(kubectl: Kubectl) -> None:
    kubectl.apply(pod("client", "sleep", "infinity"))
    kubectl.wait("condition=Ready", "pod/client")
    fetch = ("timeout", "10", "wget", "-q", "-O", "-", "http://198.51.100.1/")
    done = kubectl.run("exec", "client", "--", *fetch)
    assert "unreachable" in done.stderr


def test_a_pod_of_a_stateful_set_is_found_by_its_name_before_it_is_ready(kubectl: Kubectl) -> None:
    kubectl.apply(headless_service("db-hs"))
    kubectl.apply(stateful_set("db", "db-hs", "sleep", "infinity", ready=False))
    kubectl.wait("jsonpath={.status.phase}=Running", "pod/db-0")
    name = f"db-0.db-hs.{kubectl.namespace}.svc.cluster.local"
    address = kubectl.get("pod/db-0")["status"]["podIP"]
    _until(lambda: _lookup(kubectl, "db-0", name), address.encode())
    kubectl("delete", "pod", "db-0", "--wait=true")
    kubectl.wait("jsonpath={.status.phase}=Running", "pod/db-0")
    after = kubectl.get("pod/db-0")["status"]["podIP"]
    assert after != address
    _until(lambda: _lookup(kubectl, "db-0", name), after.encode())


def test_a_service_is_found_by_its_short_name(kubectl: Kubectl) -> None:
    kubectl.apply(server("web", "by its name"))
    kubectl.apply(service("web"))
    kubectl.apply(pod("client", "sleep", "infinity"))
    kubectl.wait("condition=Ready", "pod/web", "pod/client")
    fetch = ("wget", "-q", "-O", "-", "http://web/")
    _until(lambda: _binary(kubectl, "exec", "client", "--", *fetch).stdout, b"by its name\n")


def test_a_name_outside_of_the_cluster_is_unknown_at_once(kubectl: Kubectl) -> None:
    kubectl.apply(pod("client", "sleep", "infinity"))
    kubectl.wait("condition=Ready", "pod/client")
    done = kubectl.run("exec", "client", "--", "timeout", "5", "nslookup", "kudo.example.com")
    assert "can't find kudo.example.com: NXDOMAIN" in done.stdout


def test_the_dns_may_look_at_what_it_answers_for_alone(kubectl: Kubectl) -> None:
    listed = kubectl("auth", "can-i", "--list", "--as=kudo-dns", "--no-headers").splitlines()
    # Every user may get the health of the server, and ask for its own rights.
    own = [line.split() for line in listed if "[get]" not in line and "selfsubject" not in line]
    assert sorted((line[0], " ".join(line[3:])) for line in own) == [
        ("endpointslices.discovery.k8s.io", "[list watch]"),
        ("namespaces", "[list watch]"),
        ("services", "[list watch]"),
    ]


def test_a_deleted_pod_is_gone_and_so_is_its_process(kubectl: Kubectl) -> None:
    marker = f"{kubectl.namespace}-marker"
    kubectl.apply(pod("brief", "sh", "-c", f"sleep infinity; echo {marker}"))
    kubectl.wait("condition=Ready", "pod/brief")
    # The container counts as started a moment before its command is.
    _until(lambda: b"running" if _running(marker) else b"", b"running")
    kubectl("delete", "pod", "brief", "--wait=true")
    assert "NotFound" in kubectl.run("get", "pod", "brief").stderr
    assert not _running(marker)


def test_an_imported_image_is_found_by_its_short_name(
    node_cluster: Cluster, kubectl: Kubectl, tmp_path: Path
) -> None:
    busybox = Path("/bin/busybox")
    images.write_busybox(busybox, tmp_path / "image.tar", ["my/tool:2.0"])
    node_cluster.import_image(tmp_path / "image.tar")
    tool = {**container("echo", "imported"), "image": "my/tool:2.0"}
    kubectl.apply(pod("tool", containers=[tool]))
    kubectl.wait("jsonpath={.status.phase}=Succeeded", "pod/tool")
    assert kubectl("logs", "tool") == "imported\n"


def test_an_image_that_was_never_imported_keeps_its_pod_waiting(kubectl: Kubectl) -> None:
    missing = {**container("true"), "image": "my/missing:1.0", "imagePullPolicy": "Never"}
    kubectl.apply(pod("waiting", containers=[missing]))
    reason = "{.status.containerStatuses[0].state.waiting.reason}"
    kubectl.wait(f"jsonpath={reason}=ErrImageNeverPull", "pod/waiting")


def _running(marker: str) -> bool:
    return any(marker.encode() in line for line in _command_lines())


def _command_lines() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield path.read_bytes()
