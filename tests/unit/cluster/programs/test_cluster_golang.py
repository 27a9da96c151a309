"""Calling the Go command, with a shell script in its place: messages, signs of life, clean-up."""

import subprocess
import sys
from pathlib import Path

import pytest

from kudo_cluster import progress
from kudo_cluster.errors import BuildError
from kudo_cluster.processes.process import Process, wait_until_gone
from kudo_cluster.programs import golang
from kudo_cluster.programs.golang import Program

_ETCD = Program("etcd", "go.etcd.io/etcd/server/v3")
_SCHEDULER = Program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler")


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the script that stands for the Go command; each test writes it."""
    script = tmp_path / "bin" / "go"
    script.parent.mkdir()
    script.touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    return script


def _script(go: Path, body: str) -> None:
    go.write_text(f"#!/bin/sh\n{body}\n")


def _build(tmp_path: Path, lines: list[str]) -> None:
    golang.build([_ETCD, _SCHEDULER], tmp_path, tmp_path / "build.log", progress=lines.append)


def test_the_components_report_the_pinned_version() -> None:
    version = golang.module_version("k8s.io/kubernetes")
    flags = golang.linker_flags()
    assert f"-X k8s.io/component-base/version.gitVersion={version}" in flags
    assert f"gitMajor={version[1:].split('.')[0]}" in flags


def test_a_missing_go_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"needs Go 1\.\d+.* or newer.*KUBEBUILDER_ASSETS"):
        golang.check_go()


def test_a_go_that_is_too_old_is_explained(go: Path) -> None:
    _script(go, "echo go1.19.8")
    with pytest.raises(BuildError, match=r"Go 1\.19\.8 is too old.*needs Go 1\."):
        golang.check_go()


def test_a_go_that_refuses_the_module_is_explained(go: Path) -> None:
    _script(go, "echo 'go.mod requires go >= 1.99' >&2; exit 1")
    with pytest.raises(BuildError, match=r"requires go >= 1\.99"):
        golang.check_go()


def test_a_newer_go_is_welcome(go: Path) -> None:
    _script(go, "echo go1.99rc1")
    golang.check_go()


def test_a_failed_build_shows_the_end_of_its_log_and_where_it_is(go: Path, tmp_path: Path) -> None:
    _script(go, "for i in $(seq 100); do echo line $i; done; exit 3")
    with pytest.raises(BuildError) as failed:
        _build(tmp_path, [])
    message = str(failed.value)
    assert "line 100" in message
    assert "line 50\n" not in message
    assert str(tmp_path / "build.log") in message
    assert "exit code 3" in message


def test_the_first_line_comes_before_the_build(go: Path, tmp_path: Path) -> None:
    _script(go, f'echo "$@" > {tmp_path / "arguments"}')
    lines: list[str] = []
    _build(tmp_path, lines)
    version = golang.module_version("go.etcd.io/etcd/server/v3")
    assert lines[0] == f"building etcd from go.etcd.io/etcd/server/v3 {version}"
    assert lines[1].startswith("building kube-scheduler from k8s.io/kubernetes/")
    assert lines[-1].startswith("built in ")
    assert "-mod=readonly" in (tmp_path / "arguments").read_text()


_WRITES_ETCD = """
while [ "$1" != -o ]; do shift; done
mkdir -p "$2"; echo whole > "$2"/server
"""


def test_programs_get_the_names_that_they_have_here(go: Path, tmp_path: Path) -> None:
    _script(go, _WRITES_ETCD)
    _build(tmp_path, [])
    assert (tmp_path / "etcd").read_text() == "whole\n"
    assert not (tmp_path / "kube-scheduler").exists()


def test_a_failed_build_gives_what_could_be_built(go: Path, tmp_path: Path) -> None:
    _script(go, f"{_WRITES_ETCD}; exit 1")
    with pytest.raises(BuildError):
        _build(tmp_path, [])
    assert (tmp_path / "etcd").read_text() == "whole\n"


def test_the_callers_go_settings_do_not_matter(
    go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    monkeypatch.setenv("GOWORK", "/somewhere/go.work")
    _script(go, f'echo "[$GOFLAGS][$GOWORK][$CGO_ENABLED]" > {tmp_path / "settings"}')
    _build(tmp_path, [])
    assert (tmp_path / "settings").read_text().strip() == "[][off][0]"


def test_a_long_build_gives_signs_of_life(
    go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(golang, "_TICK", 0.01)
    monkeypatch.setattr(progress, "HEARTBEAT", 0.02)
    done = tmp_path / "done"
    _script(go, f"echo a package; while [ ! -e {done} ]; do sleep 0.01; done")
    lines: list[str] = []

    def keep(line: str) -> None:
        lines.append(line)
        # The many lines are for a broken build, which must end too.
        if line.endswith("s, 1 packages compiled") or len(lines) > 2000:
            done.touch()

    golang.build([_ETCD], tmp_path, tmp_path / "log", progress=keep)
    assert len(lines) <= 2000
    assert [line for line in lines if line.endswith("s, 1 packages compiled")]


def test_an_interrupted_build_leaves_no_compiler_behind(
    go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(golang, "_TICK", 0.01)
    monkeypatch.setattr(progress, "HEARTBEAT", 0.0)
    # The shell's child stands for the compilers that go starts.
    _script(go, f"cd {tmp_path}; sleep 1000 & echo $! > new; mv new pid; wait")
    compilers: list[Process] = []

    def interrupt(line: str) -> None:
        if (tmp_path / "pid").exists():
            compilers.append(Process.of(int((tmp_path / "pid").read_text())))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        golang.build([_ETCD], tmp_path, tmp_path / "log", progress=interrupt)
    assert wait_until_gone(compilers, timeout=60) == []


def test_a_killed_builder_takes_the_go_command_along(go: Path, tmp_path: Path) -> None:
    _script(go, "echo pid $$; exec sleep 1000")
    program = f"""
from pathlib import Path
from kudo_cluster import progress
from kudo_cluster.programs import golang

log = Path({str(tmp_path)!r}) / "log"
progress.HEARTBEAT = 0.0
tell = lambda line: print(log.read_text() if log.exists() else "", flush=True)
etcd = golang.Program("etcd", "go.etcd.io/etcd/server/v3")
golang.build([etcd], log.parent, log, progress=tell)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as builder:
        assert builder.stdout is not None
        line = next(line for line in builder.stdout if line.startswith(b"pid "))
        building = Process.of(int(line.split()[1]))
        builder.kill()
        builder.wait()
    assert wait_until_gone([building], timeout=60) == []


def test_fetching_and_compiling_are_counted_apart(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("go: downloading a v1\ngo: downloading b v2\na/x\n")
    assert golang._done(log) == "2 modules downloaded, 1 packages compiled"
