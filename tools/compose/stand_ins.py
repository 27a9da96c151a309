"""Images in place of those that only a registry has: k3s, Prometheus and Grafana.

Each has a static busybox, as the real ones have a shell, and is called as they are.

* k3s: the control plane of `kudo-cluster` with a simulated node (k3s.sh);
* Prometheus: Debian's;
* Grafana: a port and a check that its files are mounted (grafana.sh), and a client of Prometheus.
"""

import io
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import yaml

from kudo_cluster.control_plane import components, identities, startup
from kudo_cluster.control_plane.components import Ports
from kudo_cluster.control_plane.identities import Authority
from kudo_cluster.control_plane.network import LoopbackNetwork
from kudo_cluster.layout import Layout
from kudo_cluster.node import simulated
from kudo_cluster.node.simulated import write_stages
from kudo_cluster.programs.binaries import Binaries
from tools.compose.engine import ComposeError, Engine

K3S, PROMETHEUS, GRAFANA = (
    f"kudo-compose-{name}:local" for name in ("k3s", "prometheus", "grafana")
)
_HERE = Path(__file__).parent
_PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
_CLUSTER = Layout(Path("/cluster"))
_STATE = Layout(Path("/var/lib/rancher/k3s"))
_PORTS = Ports(2379, 2380, 6443, 10257, 10259, 10247)
# Listens where other containers and the published port reach it.
_NETWORK = LoopbackNetwork(server="0.0.0.0")
_SERVER = ("--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none")
_NAME = "k3s"
_LIBRARY = re.compile(r"(/\S+) \(0x")


class Root:
    """The root directory of an image, written as a tar file.

    Args:
        tar: receives it.
        busybox: a static one.
    """

    def __init__(self, tar: tarfile.TarFile, busybox: Path) -> None:
        self._tar = tar
        for name, mode in (("tmp", 0o1777), ("root", 0o700), ("etc", 0o755)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        self.add(busybox, "/bin/busybox")
        listed = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True)
        for applet in set(listed.stdout.split()) - {"busybox"}:
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)

    def add(self, source: Path, path: str) -> None:
        """Add a program, or a script."""
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.size, entry.mode = source.stat().st_size, 0o755
        with source.open("rb") as stream:
            self._tar.addfile(entry, stream)

    def write(self, content: bytes, path: str) -> None:
        """Add a file."""
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.size = len(content)
        self._tar.addfile(entry, io.BytesIO(content))


def make(engine: Engine, binaries: Binaries) -> None:
    """Give an engine the three images; raises ComposeError if a program is missing."""
    _make(engine, K3S, ["/bin/k3s"], lambda root: _k3s(root, binaries))
    store = ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
    _make(engine, PROMETHEUS, ["/bin/prometheus", *store], _prometheus)
    _make(engine, GRAFANA, ["/bin/grafana"], _grafana)


def _make(engine: Engine, name: str, entrypoint: list[str], fill: Callable[[Root], None]) -> None:
    changes = ["ENV PATH=/bin", f"ENTRYPOINT {json.dumps(entrypoint)}"]
    with (
        engine.importing(name, changes) as stream,
        tarfile.open(fileobj=stream, mode="w|") as tar,
    ):
        fill(Root(tar, _installed("busybox")))


def _installed(name: str) -> Path:
    path = shutil.which(name)
    if path is None:
        raise ComposeError(f"{name} is not installed")
    return Path(path).resolve()


def _k3s(root: Root, binaries: Binaries) -> None:
    root.add(_HERE / "k3s.sh", "/bin/k3s")
    for name in (*_PROGRAMS, "kubectl"):
        root.add(binaries.path(name), f"/bin/{name}")
    with tempfile.TemporaryDirectory(prefix="kudo-compose-k3s-") as scratch:
        made = Layout(Path(scratch))
        startup.prepare(made, _PORTS, _NETWORK, name="compose")
        hosts = (*components.server_hosts(_NETWORK), _NAME)
        authority = Authority.read(made.pki, startup.CA)
        authority.server("kube-apiserver", hosts).write(made.pki, "server")
        write_stages(binaries.stock_stages, made.stages)
        for path in sorted(made.root.rglob("*")):
            if path.is_file():
                inside = _CLUSTER.root / path.relative_to(made.root)
                root.write(path.read_bytes(), str(inside))
        given = yaml.safe_load(identities.path_of(made.root, "admin").read_bytes())
    # What k3s gives to its caller: YAML in lines, for this very machine.
    given["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{_PORTS.apiserver}"
    root.write(yaml.safe_dump(given).encode(), "/cluster/k3s.yaml")
    root.write(yaml.safe_dump(simulated.manifest(startup.NODE)).encode(), "/cluster/node.yaml")
    for component in (
        components.storage(_STATE, _PORTS),
        components.apiserver(_CLUSTER, _PORTS, _NETWORK, _SERVER),
        components.controller_manager(_CLUSTER, _PORTS),
        components.scheduler(_CLUSTER, _PORTS),
        components.kwok(_CLUSTER, _PORTS),
    ):
        words = "\n".join((component.name, *component.arguments))
        root.write(f"{words}\n".encode(), f"/cluster/commands/{component.name}")


def _prometheus(root: Root) -> None:
    _linked(root, "prometheus", "promtool")


def _grafana(root: Root) -> None:
    root.add(_HERE / "grafana.sh", "/bin/grafana")
    _linked(root, "promtool")


def _linked(root: Root, *names: str) -> None:
    """Add installed programs with the libraries that they need."""
    libraries = set()
    for name in names:
        program = _installed(name)
        root.add(program, f"/bin/{name}")
        linked = subprocess.run(["ldd", program], capture_output=True, text=True)
        libraries |= set(_LIBRARY.findall(linked.stdout))
    for library in sorted(libraries):
        root.add(Path(library), library)
