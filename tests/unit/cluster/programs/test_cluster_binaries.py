"""The cache of programs, with a stand-in for the Go command: nothing is built here."""

import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kudo_cluster.errors import BuildError
from kudo_cluster.programs import binaries, golang
from kudo_cluster.progress import Progress

_ALL = [program.name for program in binaries.PROGRAMS]
_NODE = [program.name for program in (*binaries.NODE_PROGRAMS, *binaries.DNS_PROGRAMS)]


class FakeGo:
    """Writes a file for each program, and remembers which."""

    def __init__(self) -> None:
        self.built: list[str] = []
        self.fails_at: str | None = None

    def build(
        self,
        programs: Sequence[golang.Program],
        directory: Path,
        log: Path,
        *,
        progress: Progress,
    ) -> None:
        log.touch()
        for program in programs:
            if program.name == self.fails_at:
                raise BuildError("no")
            output = directory / program.name
            output.write_text(program.package)
            output.chmod(0o755)
            self.built.append(program.name)
            progress(program.name)


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeGo:
    fake = FakeGo()
    module = tmp_path / "module"
    for source in ("node/fast", "node/heartbeat-with-lease", "pod/fast"):
        directory = module / "kustomize" / "stage" / source
        directory.mkdir(parents=True)
        (directory / "kustomization.yaml").write_text("kind: Kustomization")
        (directory / f"{source.replace('/', '-')}.yaml").write_text("kind: Stage")
    (module / "LICENSE").write_text("a license")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(binaries.ASSETS_VARIABLE, raising=False)
    monkeypatch.setattr(golang, "check_go", lambda: None)
    monkeypatch.setattr(golang, "build", fake.build)
    monkeypatch.setattr(golang, "module_directory", lambda _: module)
    return fake


def _programs(directory: Path, *names: str) -> Path:
    directory.mkdir()
    for name in names:
        (directory / name).touch(mode=0o755)
    return directory


def test_the_key_is_the_same_each_time() -> None:
    assert binaries.cache_key() == binaries.cache_key()


@pytest.mark.parametrize("name", ["go.mod", "go.sum"])
def test_the_key_changes_with_the_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    before = binaries.cache_key()
    for file in ("go.mod", "go.sum"):
        (tmp_path / file).write_bytes((golang.MODULE / file).read_bytes())
    monkeypatch.setattr(golang, "MODULE", tmp_path)
    assert binaries.cache_key() == before
    with (tmp_path / name).open("a") as changed:
        changed.write("// changed\n")
    assert binaries.cache_key() != before


@pytest.mark.parametrize(
    ("function", "value"),
    [("target", ("linux", "riscv64")), ("linker_flags", "-s"), ("compiler_flags", "all=-N")],
)
def test_the_key_changes_with_platform_and_flags(
    monkeypatch: pytest.MonkeyPatch, function: str, value: object
) -> None:
    before = binaries.cache_key()
    monkeypatch.setattr(golang, function, lambda: value)
    assert binaries.cache_key() != before


def test_the_key_changes_with_the_source_of_a_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = binaries.cache_key(binaries.DNS)
    shutil.copytree(golang.MODULE, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(golang, "MODULE", tmp_path)
    assert binaries.cache_key(binaries.DNS) == before
    with (tmp_path / "dns" / "main.go").open("a") as changed:
        changed.write("// changed\n")
    assert binaries.cache_key(binaries.DNS) != before


def test_the_cache_follows_the_xdg_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert binaries.cache_directory().parent == tmp_path / "kudo" / "bin"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert binaries.cache_directory().parent == Path.home() / ".cache" / "kudo" / "bin"


def test_every_program_is_built_once(go: FakeGo) -> None:
    first, second = binaries.obtain(), binaries.obtain()
    assert go.built == _ALL
    assert first.paths == second.paths
    assert first.path("etcd").read_text() == "go.etcd.io/etcd/server/v3"


def test_programs_are_complete_once_nothing_is_left_to_build(go: FakeGo) -> None:
    assert not binaries.complete()
    binaries.obtain()
    assert binaries.complete()
    assert go.built == _ALL


def test_the_programs_of_a_real_node_are_built_for_those_who_ask(go: FakeGo) -> None:
    assert "kubelet" not in binaries.obtain().paths
    found = binaries.obtain(node=True)
    assert go.built == [*_ALL, *_NODE]
    assert found.path("kubelet").parent == binaries.cache_directory(binaries.NODE)
    assert found.path("etcd").parent == binaries.cache_directory()


def test_the_programs_of_a_real_node_change_no_other_directory() -> None:
    assert binaries.cache_key(binaries.NODE) != binaries.cache_key()


def test_both_modules_pin_the_same_kubernetes() -> None:
    pinned = [
        line.split("//")[0].strip()
        for suite in (binaries.CONTROL_PLANE, binaries.NODE)
        for line in (golang.MODULE / suite.module / "go.mod").read_text().splitlines()
        if line.strip().startswith("k8s.io/kubernetes v")
    ]
    assert pinned == [f"k8s.io/kubernetes {golang.module_version('k8s.io/kubernetes')}"] * 2


def test_the_stock_stages_are_copied_with_their_license(go: FakeGo) -> None:
    stages = binaries.obtain().stock_stages
    assert sorted(path.name for path in stages.iterdir()) == [
        "LICENSE",
        "node-fast.yaml",
        "node-heartbeat-with-lease.yaml",
        "pod-fast.yaml",
    ]


def test_a_failed_build_leaves_nothing_half_made_and_keeps_the_rest(go: FakeGo) -> None:
    go.fails_at = "kubectl"
    with pytest.raises(BuildError):
        binaries.obtain()
    kept = {path.name for path in binaries.cache_directory().iterdir()}
    logs = {name for name in kept if name.endswith(".log")}
    assert kept - logs == set(_ALL[: _ALL.index("kubectl")])
    go.fails_at = None
    binaries.obtain()
    assert sorted(go.built) == sorted(_ALL)


def test_two_who_build_at_once_build_only_once(go: FakeGo) -> None:
    lines: list[str] = []
    threads = [threading.Thread(target=binaries.obtain, args=(lines.append,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(go.built) == sorted(_ALL)


def test_whoever_waits_for_another_build_says_so(
    go: FakeGo, monkeypatch: pytest.MonkeyPatch
) -> None:
    building, waiting = threading.Event(), threading.Event()
    original: Callable[..., None] = golang.build

    def build(program: golang.Program, *positional: object, **named: object) -> None:
        building.set()
        assert waiting.wait(timeout=60), f"the second one has printed {lines}"
        original(program, *positional, **named)

    lines: list[str] = []

    def second_progress(line: str) -> None:
        lines.append(line)
        if "another process is building" in line:
            waiting.set()

    monkeypatch.setattr(golang, "build", build)
    first = threading.Thread(target=binaries.obtain)
    first.start()
    assert building.wait(timeout=60), "the first one does not build"
    binaries.obtain(second_progress)
    first.join()
    assert sorted(go.built) == sorted(_ALL)


def test_ready_made_programs_win_and_only_the_rest_is_built(
    go: FakeGo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assets = _programs(tmp_path / "assets", "kube-apiserver", "etcd", "kubectl")
    monkeypatch.setenv(binaries.ASSETS_VARIABLE, str(assets))
    found = binaries.obtain()
    assert go.built == ["kube-controller-manager", "kube-scheduler", "kwok"]
    assert found.path("etcd") == assets / "etcd"
    assert found.path("kwok").parent == binaries.cache_directory()


def test_an_incomplete_directory_of_ready_made_programs_is_not_used(
    go: FakeGo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(binaries.ASSETS_VARIABLE, str(_programs(tmp_path / "assets", "etcd")))
    lines: list[str] = []
    assert binaries.ready_made(lines.append) == {}
    assert "lacks kube-apiserver, kubectl" in lines[0]


def test_a_file_that_cannot_be_executed_is_no_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assets = _programs(tmp_path / "assets", "kube-apiserver", "etcd", "kubectl")
    (assets / "etcd").chmod(0o644)
    monkeypatch.setenv(binaries.ASSETS_VARIABLE, str(assets))
    assert binaries.ready_made() == {}
