"""Build programs from the pinned Go modules beside this file, with signs of life.

A module names each program as a tool and pins everything it is made from: ``gomodule/`` for the
control plane, ``gomodule/node/`` for a real node. Building leaves both as they are, and never
depends on the caller's Go workspace or flags.
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
    """A program of a cluster: its name here, the Go package that holds it, and who pins it.

    Attributes:
        name: what the file is called.
        package: the Go package to build.
        module: the folder of the module that pins it, below MODULE.
    """

    name: str
    package: str
    module: str = ""

    @property
    def go_name(self) -> str:
        """The file name that the Go command gives it: the last element that is no version."""
        *_, before, last = self.package.split("/")
        return before if _MAJOR_VERSION.fullmatch(last) else last


def module_version(module: str) -> str:
    """Read the pinned version of a module, such as v1.36.3, from go.mod."""
    found = re.search(rf"^\s*{re.escape(module)} (v\S+)", _go_mod(), re.MULTILINE)
    if found is None:
        raise BuildError(f"{MODULE / 'go.mod'} does not require {module}")
    return found[1]


def linker_flags() -> str:
    """Give the components a version that version checks accept; built plainly, they report none."""
    version = module_version("k8s.io/kubernetes")
    major, minor, _ = version.removeprefix("v").split(".", 2)
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    settings = (f"-X k8s.io/component-base/version.{name}={v}" for name, v in values.items())
    return " ".join(["-s", "-w", *settings])


def compiler_flags() -> str:
    """Leave debugging information out: writing it is a tenth of the compiler's time.

    The linker drops it in any case. Optimization stays on, since tests wait for these programs.
    """
    return "all=-dwarf=false"


def target() -> tuple[str, str]:
    """Name this machine as Go does: GOOS and GOARCH, without asking Go, which may be absent."""
    machine = platform.machine().lower()
    return sys.platform, {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def check_go() -> None:
    """Raise BuildError, saying what to do, unless a recent enough Go is on the PATH."""
    needed = needed_go()
    if shutil.which("go") is None:
        raise BuildError(
            f"Go is not installed. Building the control plane needs Go {needed} or newer on the "
            "PATH; or set KUBEBUILDER_ASSETS to a directory with ready-made programs."
        )
    asked = subprocess.run(
        ["go", "env", "GOVERSION"], cwd=MODULE, env=_environment(), capture_output=True, text=True
    )
    found = asked.stdout.strip().removeprefix("go")
    if asked.returncode != 0 or _numbers(found) < _numbers(needed):
        raise BuildError(
            f"Go {found or 'on the PATH'} is too old. Building the control plane needs Go {needed} "
            f"or newer. {asked.stderr.strip()}".rstrip()
        )


def needed_go() -> str:
    """Read the lowest Go version that go.mod allows."""
    found = re.search(r"^go (\S+)$", _go_mod(), re.MULTILINE)
    assert found is not None
    return found[1]


def build(programs: Sequence[Program], directory: Path, log: Path, *, progress: Progress) -> None:
    """Build programs of one module into a directory, each under its own name.

    One Go command builds them all: while one program is linked, which takes a single core, the
    packages of the others are compiled.

    Args:
        programs: what to build; all of the same module.
        directory: where the programs and intermediate results are written.
        log: receives everything the Go command says.
        progress: receives the lines.

    Raises:
        BuildError: with the end of the log, and where it lies; the directory then holds those
            programs that could be built.
    """
    [module] = {program.module for program in programs}
    command = ["go", "build", "-v", "-mod=readonly", "-buildvcs=false", "-trimpath"]
    command += [f"-gcflags={compiler_flags()}", f"-ldflags={linker_flags()}"]
    # What an interrupted Go command leaves there may be half a file.
    made = directory / "made"
    command += ["-o", f"{made}{os.sep}", *(program.package for program in programs)]
    for program in programs:
        progress(f"building {program.name} from {program.package} {_version_of(program)}".rstrip())
    start = time.monotonic()
    with log.open("wb") as stream:
        # Where go works: when it is interrupted, it leaves everything there.
        environment = {**_environment(), "GOTMPDIR": str(directory)}
        code = _run(command, MODULE / module, environment, stream.fileno(), log, progress)
    for program in programs:
        if (made / program.go_name).exists():
            (made / program.go_name).rename(directory / program.name)
    if code != 0:
        raise BuildError(
            f"go build failed (exit code {code}); the end of its log {log}:\n"
            f"{_tail(log)}\nIf modules could not be fetched, check the network and the GOPROXY "
            "setting, then run the command again: what is built already is kept."
        )
    progress(f"built in {time.monotonic() - start:.0f} s")


def module_directory(module: str) -> Path:
    """Say where Go keeps the sources of a module that go.mod pins, fetching them if need be."""
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
    # A process group of its own: the compilers that go starts have to end with it. Should this
    # process be killed, the kernel kills go; a compiler ends with the package it is at.
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
    return f"{fetched} modules fetched, {compiled}" if fetched else compiled


def _environment() -> dict[str, str]:
    # The caller's workspace or -mod flag would build something else than go.sum fixes.
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
