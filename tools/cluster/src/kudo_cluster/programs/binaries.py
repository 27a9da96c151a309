"""The programs of a cluster: ready-made, or built once and cached.

Programs in ``KUBEBUILDER_ASSETS`` are used if that directory has kube-apiserver, etcd and kubectl.
All others are built from pinned Go modules into ``${XDG_CACHE_HOME:-~/.cache}/kudo/bin/KEY``. KEY
is a hash of everything that affects the result, so a changed version gets a new directory. The
programs of a real node have their own modules and directories: the control plane is built without
them.

A program is built under another name and then renamed, so a file in the cache is always complete.
One process builds at a time and others wait for it. An interrupted build continues where it
stopped.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kudo_cluster.errors import BuildError
from kudo_cluster.programs import golang
from kudo_cluster.programs.golang import Program
from kudo_cluster.progress import Progress, silent

_STAGES = "kwok-stages"
_STAGE_SOURCES = ("node/fast", "node/heartbeat-with-lease", "pod/fast")


@dataclass(frozen=True, slots=True)
class Suite:
    """Programs that one Go module pins, built into one directory.

    Attributes:
        programs: in the order in which they are built.
        module: the directory of the module, below golang.MODULE.
        stages: the stages of kwok to copy as well, as directories in kwok's module.
    """

    programs: tuple[Program, ...]
    module: str = ""
    stages: tuple[str, ...] = ()


PROGRAMS = (
    Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    Program("etcd", "go.etcd.io/etcd/server/v3"),
    Program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    Program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    Program("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    Program("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
)
NODE_PROGRAMS = (
    Program("kubelet", "k8s.io/kubernetes/cmd/kubelet", "node"),
    Program("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy", "node"),
)
# Its module is a program, too: CoreDNS with a few of its plugins.
DNS_PROGRAMS = (Program("coredns", "kudo.dev/cluster/dns", "dns"),)
CONTROL_PLANE = Suite(PROGRAMS, stages=_STAGE_SOURCES)
NODE = Suite(NODE_PROGRAMS, module="node")
DNS = Suite(DNS_PROGRAMS, module="dns")
ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"
_ASSETS_NEEDED = ("kube-apiserver", "etcd", "kubectl")
_KWOK = "sigs.k8s.io/kwok"


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where each program and the stock stages of kwok are."""

    paths: Mapping[str, Path]
    stock_stages: Path

    def with_paths(self, more: Mapping[str, Path]) -> "Binaries":
        """Return these and more, such as programs that the machine has installed."""
        return Binaries({**self.paths, **more}, self.stock_stages)

    def path(self, name: str) -> Path:
        """Return the path of a program; raises KeyError for one that does not exist here."""
        return self.paths[name]


def obtain(progress: Progress = silent, *, node: bool = False) -> Binaries:
    """Find every program, building those that are missing.

    Args:
        progress: receives a line for each step.
        node: also the programs of a real node.

    Raises:
        BuildError: a program could not be built.
    """
    paths = ready_made(progress)
    for suite in (CONTROL_PLANE, NODE, DNS) if node else (CONTROL_PLANE,):
        cache = cache_directory(suite)
        needed = tuple(program for program in suite.programs if program.name not in paths)
        if not _complete(cache, suite, needed):
            _fill(cache, suite, needed, progress)
        paths |= {program.name: cache / program.name for program in needed}
    return Binaries(paths, stock_stages=cache_directory() / _STAGES)


def complete() -> bool:
    """Return whether `obtain` finds every program of the control plane and builds none."""
    given = ready_made()
    needed = tuple(program for program in PROGRAMS if program.name not in given)
    return _complete(cache_directory(), CONTROL_PLANE, needed)


def cache_key(suite: Suite = CONTROL_PLANE) -> str:
    """Return a hash of everything that affects the programs: versions, flags, platform."""
    digest = hashlib.sha256()
    module = golang.MODULE / suite.module
    for path in (module / "go.mod", module / "go.sum", *sorted(module.glob("*.go"))):
        digest.update(path.read_bytes())
    decisive = [golang.compiler_flags(), golang.linker_flags(), *golang.target(), *suite.stages]
    decisive += [f"{program.name}={program.package}" for program in suite.programs]
    digest.update("\0".join(decisive).encode())
    return digest.hexdigest()[:16]


def cache_directory(suite: Suite = CONTROL_PLANE) -> Path:
    """Return the cache directory of the programs of a suite."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "kudo" / "bin" / cache_key(suite)


def ready_made(progress: Progress = silent) -> dict[str, Path]:
    """Return the programs in $KUBEBUILDER_ASSETS, {} if required ones are missing."""
    value = os.environ.get(ASSETS_VARIABLE)
    if not value:
        return {}
    directory = Path(value).absolute()
    paths = {p.name: directory / p.name for p in PROGRAMS if _is_program(directory / p.name)}
    missing = [name for name in _ASSETS_NEEDED if name not in paths]
    if missing:
        progress(f"{ASSETS_VARIABLE}={value} is not used: it lacks {', '.join(missing)}")
        return {}
    return paths


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _missing(cache: Path, programs: Iterable[Program]) -> list[Program]:
    return [program for program in programs if not _is_program(cache / program.name)]


def _complete(cache: Path, suite: Suite, programs: Iterable[Program]) -> bool:
    return not _missing(cache, programs) and _has_stages(cache, suite)


def _has_stages(cache: Path, suite: Suite) -> bool:
    return not suite.stages or (cache / _STAGES).is_dir()


def _fill(cache: Path, suite: Suite, programs: Iterable[Program], progress: Progress) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache.with_suffix(".lock"), progress), _scratch(cache) as scratch:
        golang.check_go()
        missing = _missing(cache, programs)
        if missing:
            progress(f"building {len(missing)} programs into {cache}; the first time takes minutes")
            _build(missing, scratch, cache, progress)
        if not _has_stages(cache, suite):
            _copy_stages(scratch / _STAGES)
            (scratch / _STAGES).rename(cache / _STAGES)


def _build(programs: list[Program], scratch: Path, cache: Path, progress: Progress) -> None:
    """Build programs; those that succeed are cached even if others fail."""
    try:
        golang.build(programs, scratch, cache / "build.log", progress=progress)
    finally:
        for program in programs:
            if _is_program(scratch / program.name):
                (scratch / program.name).rename(cache / program.name)


def _copy_stages(destination: Path) -> None:
    """Copy the stock stages of kwok with their license; kwok reads them in order of name."""
    module = golang.module_directory(_KWOK)
    destination.mkdir()
    shutil.copyfile(module / "LICENSE", destination / "LICENSE")
    sources = [
        path
        for source in _STAGE_SOURCES
        for path in sorted((module / "kustomize" / "stage" / source).glob("*.yaml"))
        if path.name != "kustomization.yaml"
    ]
    if not sources:
        raise BuildError(f"{module} has no stages")
    for path in sources:
        # Not copy(), which keeps the mode: files in Go's module cache are read-only.
        shutil.copyfile(path, destination / path.name)


@contextlib.contextmanager
def _locked(path: Path, progress: Progress) -> Iterator[None]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another process is building the same programs: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _scratch(cache: Path) -> Iterator[Path]:
    """Yield a directory to build in; only the holder of the lock may use it."""
    scratch = cache / "unfinished"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
