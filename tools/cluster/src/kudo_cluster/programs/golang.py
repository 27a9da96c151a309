"""Builds programs from the pinned Go modules beside this file, with progress output.

Each module lists its programs as tools and pins their dependencies: ``gomodule/`` for the control
plane, ``gomodule/node/`` for a real node. ``gomodule/dns/`` is a program itself, of packages of
CoreDNS. A build does not change them, and ignores the caller's Go workspace and flags.
"""

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kudo_cluster.errors import BuildError
from kudo_cluster.processes import supervisor
from kudo_cluster.progress import Heartbeat, Progress

MODULE = Path(__file__).parent / "gomodule"
_TICK = 0.5
_TAIL = 15
_MAJOR_VERSION = re.compile(r"v[2-9][0-9]*")
_SUPERVISOR = Path(supervisor.__file__)


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a cluster and the Go package that it is built from.

    Attributes:
        name: file name of the program.
        package: the Go package to build.
        module: directory of the module that pins it, below MODULE.
    """

    name: str
    package: str
    module: str = ""

    @property
    def go_name(self) -> str:
        """The file name that `go build` gives it: the last path element that is not a version."""
        *_, before, last = self.package.split("/")
        return before if _MAJOR_VERSION.fullmatch(last) else last


def module_version(module: str) -> str:
    """Return the version of a module in go.mod, such as v1.36.3."""
    match = re.search(rf"^\s*{re.escape(module)} (v\S+)", _go_mod(), re.MULTILINE)
    if match is None:
        raise BuildError(f"{MODULE / 'go.mod'} does not require {module}")
    return match[1]


def linker_flags() -> str:
    """Return linker flags that set the version of the components, which they lack otherwise."""
    version = module_version("k8s.io/kubernetes")
    major, minor, _ = version.removeprefix("v").split(".", 2)
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    settings = (f"-X k8s.io/component-base/version.{name}={v}" for name, v in values.items())
    return " ".join(["-s", "-w", *settings])


def compiler_flags() -> str:
    """Return compiler flags that omit debugging information, a tenth of the compile time.

    The linker would drop it. Optimization stays on, since tests wait for these programs.
    """
    return "all=-dwarf=false"


def target() -> tuple[str, str]:
    """Return GOOS and GOARCH of this machine, without the Go command, which may be missing."""
    machine = platform.machine().lower()
    return sys.platform, {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def check_go() -> None:
    """Raise BuildError unless a Go that is new enough is on the PATH."""
    needed = needed_go()
    if shutil.which("go") is None:
        raise BuildError(
            f"Go is not installed. Building the control plane needs Go {needed} or newer on the "
            "PATH; or set KUBEBUILDER_ASSETS to a directory with ready-made programs."
        )
    asked = subprocess.run(
        ["go", "env", "GOVERSION"], cwd=MODULE, env=_environment(), capture_output=True, text=True
    )
    version = asked.stdout.strip().removeprefix("go")
    if asked.returncode != 0 or _numbers(version) < _numbers(needed):
        raise BuildError(
            f"Go {version or 'on the PATH'} is too old. Building the control plane needs Go "
            f"{needed} or newer. {asked.stderr.strip()}".rstrip()
        )


def needed_go() -> str:
    """Return the lowest Go version that go.mod allows."""
    match = re.search(r"^go (\S+)$", _go_mod(), re.MULTILINE)
    assert match is not None
    return match[1]


def build(programs: Sequence[Program], directory: Path, log: Path, *, progress: Progress) -> None:
    """Build programs of one module into a directory.

    One `go build` builds them all: while it links one program on a single core, it compiles
    packages of the others.

    Args:
        programs: the programs, all of the same module.
        directory: receives the programs and intermediate files.
        log: receives the output of the Go command.
        progress: receives progress lines.

    Raises:
        BuildError: a program failed; with the end of the log and its path. The directory contains
            the programs that succeeded.
    """
    [module] = {program.module for program in programs}
    command = ["go", "build", "-v", "-mod=readonly", "-buildvcs=false", "-trimpath"]
    command += [f"-gcflags={compiler_flags()}", f"-ldflags={linker_flags()}"]
    # Not `directory` itself: an interrupted Go command may leave incomplete files.
    made = directory / "made"
    command += ["-o", f"{made}{os.sep}", *(program.package for program in programs)]
    for program in programs:
        progress(f"building {program.name} from {program.package} {_version_of(program)}".rstrip())
    start = time.monotonic()
    with log.open("wb") as stream:
        # The Go command leaves its temporary files there when it is interrupted.
        environment = {**_environment(), "GOTMPDIR": str(directory)}
        code = _run(command, MODULE / module, environment, stream.fileno(), log, progress)
    for program in programs:
        if (made / program.go_name).exists():
            (made / program.go_name).rename(directory / program.name)
    if code != 0:
        raise BuildError(
            f"go build failed (exit code {code}); the end of its log {log}:\n"
            f"{_tail(log)}\nIf modules could not be downloaded, check the network and GOPROXY, "
            "then run the command again: it keeps what is already built."
        )
    progress(f"built in {time.monotonic() - start:.0f} s")


def module_directory(module: str) -> Path:
    """Return the directory of a pinned module in Go's module cache, downloading it if needed."""
    fetched = subprocess.run(
        ["go", "mod", "download", "-json", module],
        cwd=MODULE,
        env=_environment(),
        capture_output=True,
        text=True,
    )
    if fetched.returncode != 0:
        reason = f"{fetched.stderr}{fetched.stdout}".strip()
        raise BuildError(f"go mod download {module} failed: {reason}")
    return Path(json.loads(fetched.stdout)["Dir"])


def _run(
    command: list[str],
    directory: Path,
    environment: dict[str, str],
    stream: int,
    log: Path,
    progress: Progress,
) -> int:
    heartbeat = Heartbeat(progress)
    start = time.monotonic()
    # Its own process group, so that the compilers end with the Go command. If this process is
    # killed, the kernel kills the Go command, and a compiler ends after its package.
    tether = [sys.executable, "-I", "-S", str(_SUPERVISOR), str(os.getpid()), "--become"]
    building = subprocess.Popen(
        [*tether, *command],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=stream,
        stderr=stream,
        process_group=0,
    )
    try:
        while True:
            try:
                return building.wait(_TICK)
            except subprocess.TimeoutExpired:
                elapsed = time.monotonic() - start
                heartbeat.beat(f"building: {elapsed:.0f} s, {_done(log)}", elapsed)
    finally:
        heartbeat.end()
        if building.returncode is None:
            os.killpg(building.pid, signal.SIGKILL)
            building.wait()


def _done(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    fetched = sum(line.startswith("go: downloading ") for line in lines)
    compiled = f"{len(lines) - fetched} packages compiled"
    return f"{fetched} modules downloaded, {compiled}" if fetched else compiled


def _environment() -> dict[str, str]:
    # The caller's workspace or -mod flag could select other versions than go.sum.
    own = {"CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "", "GO111MODULE": "on"}
    goos, goarch = target()
    return {**os.environ, **own, "GOOS": goos, "GOARCH": goarch}


def _version_of(program: Program) -> str:
    parts = program.package.split("/")
    for end in range(len(parts), 0, -1):
        try:
            return module_version("/".join(parts[:end]))
        except BuildError:
            continue
    return ""


def _tail(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")
    return "\n".join(text.splitlines()[-_TAIL:])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _go_mod() -> str:
    return (MODULE / "go.mod").read_text(encoding="utf-8")
