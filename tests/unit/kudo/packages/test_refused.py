"""Packages that are refused: incomplete ones, wrong ones, and attacks."""

import contextlib
import gzip
import io
import os
import tarfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kudo.api.problems import InvalidInput, Problem
from kudo.packages.archive import read_archive
from kudo.packages.files import PackageFiles, PackageLimits
from kudo.packages.reader import parse_package, read_package
from tests.support.selection.properties import examples

_LIMITS = PackageLimits()
_GOOD = {"operator.yaml": b"name: o\n", "params.yaml": b""}


def _problems(call: Callable[[], object]) -> tuple[Problem, ...]:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert all(problem.reason and problem.message for problem in caught.value.problems)
    return caught.value.problems


def _parse(**files: bytes) -> tuple[Problem, ...]:
    return _problems(lambda: parse_package(PackageFiles("/p", _GOOD | files)))


def _operator(text: str) -> tuple[Problem, ...]:
    return _parse(**{"operator.yaml": text.encode()})


def _parameters(text: str) -> tuple[Problem, ...]:
    return _parse(**{"params.yaml": text.encode()})


def _tar(members: Iterable[tuple[tarfile.TarInfo | str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member, content in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _tgz(*members: tuple[tarfile.TarInfo | str, bytes]) -> bytes:
    # Without the time: it would be part of the names of tests.
    return gzip.compress(_tar([*_GOOD.items(), *members]), mtime=0)


def _refused(data: bytes, limits: PackageLimits = _LIMITS) -> tuple[Problem, ...]:
    return _problems(lambda: read_archive(data, "p.tgz", limits))


def _link(name: str, kind: bytes, target: str = "/etc/passwd") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


def test_both_missing_files_are_named_with_the_folder(tmp_path: Path) -> None:
    assert _problems(lambda: read_package(tmp_path)) == tuple(
        Problem("PackageIncomplete", f"operator package missing {name} in {tmp_path}", name)
        for name in ("operator.yaml", "params.yaml")
    )


def test_a_path_that_does_not_exist_is_named(tmp_path: Path) -> None:
    (problem,) = _problems(lambda: read_package(tmp_path / "x"))
    assert problem.message == f"stat {tmp_path / 'x'}: no such file or directory"


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "operator.yaml"
    place.write_text("name: x")
    (problem,) = _problems(lambda: read_package(place))
    assert problem.message == f"{place}: not a package directory or .tgz file"


def test_an_empty_operator_yaml_is_refused(subtests: pytest.Subtests) -> None:
    for text in ["", "# nothing", "---\n"]:
        with subtests.test(text=text):
            why = "has no content" if text else "is empty"
            message = f"failed to parse yaml into valid operator operator.yaml: the file {why}"
            assert _operator(text) == (Problem("PackageInvalid", message, "operator.yaml"),)


def test_other_api_versions_are_refused(subtests: pytest.Subtests) -> None:
    for file in ["operator.yaml", "params.yaml"]:
        with subtests.test(file=file):
            message = "expecting supported API version kudo.dev/v1beta1 but got v2"
            problems = _parse(**{file: b"apiVersion: v2"})
            assert problems == (Problem("PackageInvalid", message, file),)


def test_broken_yaml_is_refused_with_its_line() -> None:
    (problem,) = _operator("name: a\nurl: b: c\n")
    assert problem.field == "operator.yaml:2"
    assert problem.message.startswith("not valid YAML: mapping values are not allowed")


def test_fields_of_the_wrong_type_are_named() -> None:
    table = [
        ("- a", "the file must be a mapping, not a list"),
        ("word", "the file must be a mapping, not text"),
        ("name: [a]", "name must be text, not a list"),
        ("tasks: {a: b}", "tasks must be a list, not a mapping"),
        ("tasks: [a]", "tasks[0] must be a mapping, not text"),
        ("tasks: [{spec: 5}]", "tasks[0].spec must be a mapping, not a number"),
        ("tasks: [{spec: {done: 'true'}}]", "tasks[0].spec.done must be true or false, not text"),
        ("prune: 'true'", "prune must be true or false, not text"),
        ("tasks: [{spec: {resources: a}}]", "tasks[0].spec.resources must be a list, not text"),
        (
            "tasks: [{spec: {resources: [a, {b: c}]}}]",
            "tasks[0].spec.resources[1] must be text, not a mapping",
        ),
        ("plans: [deploy]", "plans must be a mapping, not a list"),
        ("plans: {deploy: yes}", "plans.deploy must be a mapping, not true"),
        (
            "plans: {d: {phases: [{steps: [{}, {tasks: 1}]}]}}",
            "plans.d.phases[0].steps[1].tasks must be a list, not a number",
        ),
    ]
    for text, message in table:
        assert _operator(text) == (Problem("PackageInvalid", message, "operator.yaml"),)


def test_wrong_parameters_are_named() -> None:
    table = [
        (
            "parameters: [{required: 'no'}]",
            "parameters[0].required must be true or false, not text",
        ),
        ("parameters: [{enum: a}]", "parameters[0].enum must be a list, not text"),
        ("parameters: [{name: P, enum: [1, ~]}]", 'parameter "P" has a null value in its enum'),
        ("groups: [{prio: high}]", "groups[0].prio must be a whole number, not text"),
        ("groups: [{prio: 1.5}]", "groups[0].prio must be a whole number, not a number"),
    ]
    for text, message in table:
        assert _parameters(text) == (Problem("PackageInvalid", message, "params.yaml"),)


def test_everything_that_is_wrong_is_named_at_once() -> None:
    problems = _parse(
        **{
            "operator.yaml": b"name: []\nurl: {}",
            "params.yaml": b"a: ]",
            "templates/t.yaml": b"a\nb \xff",
        }
    )
    fields = [problem.field for problem in problems]
    assert fields == ["operator.yaml", "operator.yaml", "params.yaml:1", "templates/t.yaml:2"]


def test_deep_nesting_and_alias_bombs_are_refused(subtests: pytest.Subtests) -> None:
    table: list[str] = [
        "a: " + "[" * 10_000,
        "a: &a [x, x]\n" + "".join(f"b{n}: &a [*a, *a, *a, *a]\n" for n in range(40)),
    ]
    for text in table:
        with subtests.test(text=text):
            (problem,) = _parameters(text)
            assert problem.message.startswith("not valid YAML: ")


def test_defaults_that_would_be_huge_as_block_yaml_are_refused() -> None:
    value = f"{'[' * 90}{'1,' * 50_000}{']' * 90}"
    (problem,) = _parameters(f"parameters: [{{name: P, type: array, default: {value}}}]")
    assert problem.message.startswith('parameter "P" has a value that cannot be stored: the YAML')


def test_links_in_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("name: secret")
    package = tmp_path / "p"
    (package / "templates").mkdir(parents=True)
    (package / "operator.yaml").symlink_to(tmp_path / "secret")
    (package / "params.yaml").write_text("")
    (package / "templates" / "a.yaml").symlink_to("/etc/passwd")
    (package / "templates" / "up").symlink_to(tmp_path)
    (package / "templates-more").symlink_to(tmp_path)
    problems = _problems(lambda: read_package(package))
    fields = {"operator.yaml", "templates/a.yaml", "templates/up", "templates-more"}
    assert {problem.field for problem in problems} == fields
    assert {problem.reason for problem in problems} == {"PackageUnsafe"}


def test_a_folder_may_be_named_through_a_link(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    for name, content in _GOOD.items():
        (package / name).write_bytes(content)
    (tmp_path / "link").symlink_to(package)
    assert read_package(tmp_path / "link").operator.name == "o"


def test_pipes_in_a_folder_are_refused_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "operator.yaml")
    (tmp_path / "params.yaml").write_text("")
    (problem,) = _problems(lambda: read_package(tmp_path))
    assert problem == Problem(
        "PackageUnsafe", "a package may hold only regular files", "operator.yaml"
    )


def test_folders_are_held_to_the_limits(tmp_path: Path) -> None:
    for name, content in _GOOD.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "templates").mkdir()
    for number in range(5):
        (tmp_path / "templates" / f"{number}.yaml").write_bytes(b"x" * 100)
    for limits in (
        PackageLimits(files=6),
        PackageLimits(file_size=99),
        PackageLimits(total_size=400),
        PackageLimits(path_length=11),
    ):
        problems = _problems(partial(read_package, tmp_path, limits=limits))
        assert {problem.reason for problem in problems} == {"PackageTooLarge"}
    assert len(_problems(lambda: read_package(tmp_path, limits=PackageLimits(file_size=99)))) == 5


def test_archives_may_hold_files_and_folders_only(subtests: pytest.Subtests) -> None:
    table: list[tuple[bytes, str]] = [
        (tarfile.SYMTYPE, "symbolic link"),
        (tarfile.LNKTYPE, "hard link"),
        (tarfile.CHRTYPE, "character device"),
        (tarfile.BLKTYPE, "block device"),
        (tarfile.FIFOTYPE, "named pipe"),
        (tarfile.GNUTYPE_SPARSE, "sparse file"),
        (b"Z", "entry of unknown type"),
    ]
    for kind, described in table:
        with subtests.test(kind=kind, described=described):
            (problem,) = _refused(_tgz((_link("templates/a.yaml", kind), b"")))
            message = f"a package may hold only regular files, not a {described}"
            assert problem == Problem("PackageUnsafe", message, "templates/a.yaml")


def test_archives_may_not_leave_the_package(subtests: pytest.Subtests) -> None:
    table = [
        "/operator.yaml",
        "../x",
        "templates/../../x",
        "templates/..",
        "a/../b",
        "./../x",
        "//x",
    ]
    for path in table:
        with subtests.test(path=path):
            (problem,) = _refused(_tgz((path, b"x")))
            assert (problem.reason, problem.field) == ("PackageUnsafe", path)


def test_paths_that_cannot_be_shown_are_refused() -> None:
    (problem,) = _refused(_tgz(("templates/a\x1b[2J.yaml", b"x")))
    assert problem.message == "the path has non-printable characters"


def test_a_name_that_comes_twice_is_refused(subtests: pytest.Subtests) -> None:
    for again in ["operator.yaml", "./operator.yaml", ".//operator.yaml"]:
        with subtests.test(again=again):
            (problem,) = _refused(_tgz((again, b"name: other\n")))
            assert problem.field == "operator.yaml"
            assert problem.message == "there are two files of this name; leave one of them out"


def test_all_unsafe_entries_are_named() -> None:
    data = _tgz(("../a", b""), (_link("b", tarfile.SYMTYPE), b""), ("/c", b""))
    assert [problem.field for problem in _refused(data)] == ["../a", "b", "/c"]


def test_archives_are_held_to_the_limits() -> None:
    data = _tgz(*((f"templates/{number}.yaml", os.urandom(100)) for number in range(5)))
    for limits in (
        PackageLimits(files=6),
        PackageLimits(file_size=99),
        PackageLimits(total_size=400),
        PackageLimits(total_size=10),
        PackageLimits(path_length=11),
    ):
        _refused(data, limits)


def test_an_archive_that_unpacks_to_a_flood_is_refused_while_unpacking() -> None:
    flood = gzip.compress(bytes(64 * 1024 * 1024), compresslevel=1)
    (problem,) = _refused(flood)
    assert "the archive unpacks to more than" in problem.message
    small = gzip.compress(bytes(20 * 1024 * 1024))
    (problem,) = _refused(small)
    assert problem.message == "p.tgz: the archive unpacks to more than 200 times its size"


def test_damaged_archives_are_refused(subtests: pytest.Subtests) -> None:
    table: list[Callable[[bytes], bytes]] = [
        lambda data: data[:0],
        lambda data: b"not gzip" + data,
        lambda data: data[:-9],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-8] + bytes(8),
        lambda data: data + b"rubbish",
        lambda data: gzip.compress(b"rubbish" * len(data)),
        lambda data: gzip.compress(gzip.decompress(data)[:600]),
        lambda data: gzip.compress(gzip.decompress(data)[:515]),
    ]
    for damage in table:
        with subtests.test(damage=damage):
            (problem,) = _refused(damage(_tgz()))
            assert problem.reason == "PackageUnreadable"
            assert problem.message.startswith("p.tgz: the archive ")


def _with_size(field: bytes) -> bytes:
    header = bytearray(_tar(_GOOD.items())[:512])
    header[124:136] = field
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return gzip.compress(bytes(header) + bytes(2048), mtime=0)


def test_sizes_that_cannot_be_are_refused(subtests: pytest.Subtests) -> None:
    table: list[bytes] = [
        b"\xff" * 12,
        b"\xff" * 11 + b"\x00",
        b"\x80" + b"\xff" * 11,
        b"77777777777\0",
        b"xyz" * 4,
    ]
    for field in table:
        with subtests.test(field=field):
            (problem,) = _refused(_with_size(field))
            assert problem.message.startswith("p.tgz: the archive is corrupt: ")


def test_damaged_pax_headers_are_refused(subtests: pytest.Subtests) -> None:
    table = [
        b"0 path=x\n",
        b"99 path=x\n",
        b"9 path=x",
        b"x",
        b"8 pathx\n",
        b"12 path=\xff\xfex\n",
        b" ",
        b"99999999999999999999 a=b\n",
        b"11 size=-1\n",
        b"11 size=9x\n",
    ]
    for records in table:
        with subtests.test(records=records):
            (problem,) = _refused(_tgz((_link("pax", tarfile.XHDTYPE), records), ("a", b"x")))
            assert problem.message.startswith("p.tgz: the archive is corrupt: ")


def test_names_of_absurd_length_are_refused() -> None:
    name = (_link("@", b"L"), os.urandom(9 * 1024 * 1024))
    (problem,) = _refused(_tgz(name, ("a", b"x")))
    assert problem.message == "p.tgz: the archive is corrupt: its headers are too large"


def test_sparse_files_in_pax_form_are_refused() -> None:
    pax = (_link("pax", tarfile.XHDTYPE), b"22 GNU.sparse.major=1\n")
    (problem,) = _refused(_tgz(pax, ("a", b"x")))
    assert "not a sparse file" in problem.message


@given(st.binary(max_size=3000))
def test_any_bytes_are_refused_in_the_one_way(data: bytes) -> None:
    for archive in (data, gzip.compress(data, compresslevel=1)):
        with contextlib.suppress(InvalidInput):
            read_archive(archive, "p.tgz", _LIMITS)


_TAR = _tar([*_GOOD.items(), ("templates/" + "x" * 120 + ".yaml", b"a: {{ .Params.A }}")])


@settings(max_examples=examples(50, deep=5_000))
@given(
    changes=st.lists(st.tuples(st.integers(0, len(_TAR) - 1), st.binary(min_size=1, max_size=12))),
    mend=st.booleans(),
)
def test_a_tampered_archive_is_read_or_refused(
    changes: list[tuple[int, bytes]], *, mend: bool
) -> None:
    raw = bytearray(_TAR)
    for position, content in changes:
        raw[position : position + len(content)] = content
    if mend:
        _mend_checksums(raw)
    with contextlib.suppress(InvalidInput):
        files = read_archive(gzip.compress(bytes(raw), compresslevel=1), "p.tgz", _LIMITS)
        assert not any(".." in path.split("/") or path.startswith("/") for path in files.files)
        parse_package(files)


def _mend_checksums(raw: bytearray) -> None:
    for start in range(0, len(raw) - 511, 512):
        if raw[start + 257 : start + 262] == b"ustar":
            raw[start + 148 : start + 156] = b" " * 8
            total = sum(raw[start : start + 512])
            raw[start + 148 : start + 156] = b"%06o\0 " % total


@given(
    st.binary(max_size=300)
    | st.text("abcnamepramtsk:-[]{} \n&*<1~\"'", max_size=120).map(str.encode)
)
def test_any_package_files_are_read_or_refused_in_the_one_way(content: bytes) -> None:
    for name in ("operator.yaml", "params.yaml", "templates/a.yaml"):
        with contextlib.suppress(InvalidInput):
            parse_package(PackageFiles("/p", _GOOD | {name: content}))
