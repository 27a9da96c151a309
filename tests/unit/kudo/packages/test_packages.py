"""Reading packages that are what they should be: folders, archives, files, defaults."""

import gzip
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from kudo.api import Maintainer, Phase, PipeFile, Step, Task, TaskSpec
from kudo.api.problems import InvalidInput
from kudo.packages.files import PackageFiles
from kudo.packages.model import PackageParameter, PackagePlan, ParameterGroup
from kudo.packages.reader import open_package, parse_package, read_package
from kudo.packages.source import Position, source_of

_OPERATOR = """\
apiVersion: kudo.dev/v1beta1
name: first
description: d
operatorVersion: "0.1.0"
appVersion: "1.2"
kudoVersion: 0.10.0
kubernetesVersion: 1.17.0
url: https://kudo.dev
namespaceManifest: ns.yaml
maintainers:
- {name: A, email: a@example.org}
- name: B
tasks:
- name: app
  kind: Apply
  spec: {resources: [a.yaml, sub/b.yaml]}
- name: files
  kind: Pipe
  spec:
    pod: a.yaml
    pipe: [{file: /f, kind: Secret, key: k}, {envFile: /e, kind: ConfigMap, key: l}]
- name: child
  kind: KudoOperator
  spec: {package: ./c, instanceName: i, appVersion: 1.0.0, operatorVersion: 2.0.0}
- {name: gone, kind: Delete, spec: {resources: [a.yaml], wait: false}}
- {name: dummy, kind: Dummy, spec: {wantErr: true, fatal: false, done: yes}}
plans:
  deploy:
    strategy: serial
    phases:
    - name: main
      strategy: parallel
      steps:
      - {name: one, tasks: [app, files]}
      - {name: two}
    - name: empty
  Later: {}
  never:
"""
_PARAMETERS = """\
groups:
- {name: g, displayName: G, description: about g, prio: 2}
parameters:
- name: A
  displayName: a
  description: about a
  default: 1
  trigger: deploy
  type: integer
  enum: [1, 2]
  group: g
  advanced: true
  hint: h
- {name: B, required: false, immutable: true, default: null}
"""


def _package(operator: str = _OPERATOR, parameters: str = "", **templates: str) -> PackageFiles:
    files = {"operator.yaml": operator, "params.yaml": parameters, **templates}
    return PackageFiles("/p", {path: text.encode() for path, text in files.items()})


def _write(folder: Path, files: PackageFiles) -> Path:
    for path, content in files.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def _archive(place: Path, folder: Path, form: int = tarfile.PAX_FORMAT, lead: str = "") -> Path:
    with tarfile.open(place, "w:gz", format=form) as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, lead + str(path.relative_to(folder)), recursive=False)
    return place


def test_operator_yaml_gives_every_field() -> None:
    operator = parse_package(_package()).operator
    assert (operator.name, operator.description, operator.url) == ("first", "d", "https://kudo.dev")
    versions = (operator.operator_version, operator.app_version)
    assert versions == ("0.1.0", "1.2")
    assert (operator.kudo_version, operator.kubernetes_version) == ("0.10.0", "1.17.0")
    assert operator.namespace_manifest == "ns.yaml"
    assert operator.maintainers == (
        Maintainer(name="A", email="a@example.org"),
        Maintainer(name="B"),
    )


def test_tasks_have_the_fields_of_their_kinds() -> None:
    pipe = (
        PipeFile(file="/f", kind="Secret", key="k"),
        PipeFile(env_file="/e", kind="ConfigMap", key="l"),
    )
    child = TaskSpec(
        package="./c", instance_name="i", app_version="1.0.0", operator_version="2.0.0"
    )
    assert parse_package(_package()).operator.tasks == (
        Task(name="app", kind="Apply", spec=TaskSpec(resources=("a.yaml", "sub/b.yaml"))),
        Task(name="files", kind="Pipe", spec=TaskSpec(pod="a.yaml", pipe=pipe)),
        Task(name="child", kind="KudoOperator", spec=child),
        Task(name="gone", kind="Delete", spec=TaskSpec(resources=("a.yaml",), wait=False)),
        Task(name="dummy", kind="Dummy", spec=TaskSpec(want_err=True, fatal=False, done=True)),
    )


def test_plans_keep_their_names_and_may_be_empty() -> None:
    steps = (Step(name="one", tasks=("app", "files")), Step(name="two"))
    main = Phase(name="main", strategy="parallel", steps=steps)
    assert parse_package(_package()).operator.plans == {
        "deploy": PackagePlan(strategy="serial", phases=(main, Phase(name="empty"))),
        "Later": PackagePlan(),
        "never": PackagePlan(),
    }


def test_params_yaml_gives_every_field_and_its_defaults() -> None:
    package = parse_package(_package(parameters=_PARAMETERS))
    assert package.groups == (
        ParameterGroup(name="g", display_name="G", description="about g", priority=2),
    )
    assert package.parameters == (
        PackageParameter(
            name="A",
            display_name="a",
            description="about a",
            required=True,
            default=1,
            has_default=True,
            trigger="deploy",
            type="integer",
            immutable=False,
            enum=(1, 2),
            group="g",
            advanced=True,
            hint="h",
        ),
        PackageParameter(name="B", required=False, has_default=True, immutable=True),
    )


def test_params_yaml_may_be_empty() -> None:
    for text in ["", "# nothing\n", "parameters:\n", "{}"]:
        assert parse_package(_package(parameters=text)).parameters == ()


def test_keys_match_whatever_their_case_and_unknown_ones_are_ignored() -> None:
    text = "NAME: o\noperatorversion: v\nTasks:\n- {Name: t, KIND: Dummy, spec: {Done: on}}\nz: 1"
    operator = parse_package(_package(text)).operator
    assert (operator.name, operator.operator_version) == ("o", "v")
    assert operator.tasks == (Task(name="t", kind="Dummy", spec=TaskSpec(done=True)),)


def test_numbers_and_booleans_become_text_where_text_is_declared(subtests: pytest.Subtests) -> None:
    table = [
        ("1.10", "1.1"),
        ("3.10", "3.1"),
        ("1.123456789", "1.1234568"),
        ("0x10", "16"),
        ("yes", "true"),
        ("2020-01-01", "2020-01-01"),
        ("~", ""),
        ("1e3", "1000"),
    ]
    for text, value in table:
        with subtests.test(text=text, value=value):
            package = parse_package(_package(f"name: n\nappVersion: {text}"))
            assert package.operator.app_version == value


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("templates/a.yaml", "a.yaml"),
        ("templates/sub/b.yaml", "sub/b.yaml"),
        ("templates/x/templates/f.yaml", "f.yaml"),
        ("templatesX/g.yaml", "templatesX/g.yaml"),
        ("templates-old/q.yaml", "templates-old/q.yaml"),
        ("templates/t.yaml.bak", "t.yaml.bak"),
    ],
)
def test_templates_are_named_by_what_follows_the_last_templates_folder(
    path: str, name: str, tmp_path: Path
) -> None:
    files = _package(**{path: "text"})
    assert parse_package(files).templates == {name: "text"}
    assert read_package(_write(tmp_path, files)).templates == {name: "text"}


@pytest.mark.parametrize(
    "path",
    [
        "templates/a.yml",
        "templates/run.sh",
        "templates.yaml",
        "a.yaml",
        "docs/templates/a.yaml",
        "child/operator.yaml",
    ],
)
def test_other_files_are_no_templates(path: str, tmp_path: Path) -> None:
    files = _package(**{path: "text"})
    assert parse_package(files).templates == {}
    assert read_package(_write(tmp_path, files)).templates == {}


def test_of_templates_with_one_name_the_last_of_the_walk_counts() -> None:
    paths = ["templates/s/templates/r.yaml", "templates/r.yaml", "templates/a/templates/r.yaml"]
    assert parse_package(_package(**{path: path for path in paths})).templates == {
        "r.yaml": "templates/s/templates/r.yaml"
    }


def test_a_folder_is_named_by_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path / "p", _package())
    monkeypatch.chdir(tmp_path)
    assert read_package("./p").origin == str(tmp_path / "p")


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("lead", ["", "./", "././/"])
def test_an_archive_reads_like_the_folder_that_it_was_made_of(
    form: int, lead: str, tmp_path: Path
) -> None:
    long = "/".join(["x" * 30] * 4) + ".yaml"
    files = _package(parameters=_PARAMETERS, **{"templates/a.yaml": "a", f"templates/{long}": "é"})
    folder = _write(tmp_path / "p", files)
    archive = _archive(tmp_path / "p.tgz", folder, form, lead)
    package = read_package(archive)
    assert package.templates == {"a.yaml": "a", long: "é"}
    assert replace(package, origin=str(folder)) == read_package(folder)


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_longer_than_a_header_are_read(form: int, tmp_path: Path) -> None:
    long = "templates/" + "é" * 120 + ".yaml"
    archive = _archive(tmp_path / "p.tgz", _write(tmp_path / "p", _package(**{long: "x"})), form)
    assert read_package(archive).templates == {"é" * 120 + ".yaml": "x"}


def test_archives_of_several_gzip_members_are_read_to_the_end(tmp_path: Path) -> None:
    raw = gzip.decompress(
        _archive(tmp_path / "p.tgz", _write(tmp_path / "p", _package())).read_bytes()
    )
    (tmp_path / "q.tgz").write_bytes(gzip.compress(raw[:700]) + gzip.compress(raw[700:]))
    assert read_package(tmp_path / "q.tgz").operator.name == "first"


def test_child_packages_are_read_from_inside_an_archive(tmp_path: Path) -> None:
    files = _package(**{"child/operator.yaml": "name: c", "child/params.yaml": "", "child/x": ""})
    archive = _archive(tmp_path / "p.tgz", _write(tmp_path / "p", files))
    opened = open_package(archive)
    child = parse_package(opened.below("child"))
    assert (child.operator.name, child.origin) == ("c", f"{archive}/child")
    assert opened.below("") is opened
    with pytest.raises(InvalidInput, match=r"missing operator\.yaml in .*/p\.tgz/chil"):
        parse_package(opened.below("chil"))


def test_an_archive_without_an_end_mark_is_read(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content in _package().files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    raw = buffer.getvalue().rstrip(b"\0")
    raw += bytes(-len(raw) % 512)
    (tmp_path / "p.tgz").write_bytes(gzip.compress(raw))
    assert read_package(tmp_path / "p.tgz").operator.name == "first"


def test_files_of_windows_are_read_like_all_others(subtests: pytest.Subtests) -> None:
    for encoding in ["utf-8-sig", "utf-16"]:
        with subtests.test(encoding=encoding):
            files = _package(
                _OPERATOR, "parameters:\n- name: ü\n", **{"templates/a.yaml": "# ü\na: 1\n"}
            )
            encoded = {path: text.decode().encode(encoding) for path, text in files.files.items()}

            there, expected = parse_package(replace(files, files=encoded)), parse_package(files)

            assert replace(there, files=files) == expected
            assert there.templates == {"a.yaml": "# ü\na: 1\n"}
            position = source_of(encoded["params.yaml"]).position(("parameters", 0, "name"))
            assert position == Position(2, 3)


def test_a_file_that_is_no_text_is_named_with_the_offset(subtests: pytest.Subtests) -> None:
    for path in ["operator.yaml", "params.yaml", "templates/a.yaml"]:
        with subtests.test(path=path):
            files = _package(**{"templates/a.yaml": "a: 1"})
            files = replace(files, files={**files.files, path: b"a: 1\nb: \xe9"})

            with pytest.raises(InvalidInput) as caught:
                parse_package(files)

            [problem] = caught.value.problems
            assert problem.field == f"{path}:2"
            assert problem.message.endswith("not UTF-8 text at byte 8; save the file as UTF-8")
