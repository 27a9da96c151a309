"""URLs of a suite: objects of steps, manifests, archives of cases."""

import gzip
import io
import tarfile
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kubectl_kudo.commands.test.host import HOST
from kubectl_kudo.commands.test.invocation import with_archives
from kudo_harness.findings import Place, SuiteInvalid
from kudo_harness.running.downloads import fetch_cases, fetch_objects
from kudo_harness.running.setup import setup_objects
from kudo_harness.suite import Suite, SuiteRequest, Text, load_suite
from tests.unit.cli.repositories.server import PackageServer, serving

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}\n"
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {}\n"
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in _PROXIES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def server() -> Iterator[PackageServer]:
    with serving() as found:
        yield found


def _suite(folder: Path, files: Mapping[str, str]) -> Suite:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    config = folder / "kudo-test.yaml"
    head = "apiVersion: kuttl.dev/v1beta1\nkind: TestSuite\n"
    config.write_text(head + (config.read_text() if config.exists() else ""))
    request = SuiteRequest(config=config, test_dirs=(str(folder / "tests"),))
    return load_suite(request)


def _step(server: PackageServer, field: str, path: str) -> str:
    return f"apiVersion: kuttl.dev/v1beta1\nkind: TestStep\n{field}: [{server.url}{path}]\n"


def _archive(files: Mapping[str, str], kind: bytes = tarfile.REGTYPE) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = "/etc/passwd" if kind == tarfile.SYMTYPE else ""
            member.size = len(text) if kind == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(text.encode()))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("field", "role"), [("apply", "apply"), ("assert", "asserts"), ("error", "errors")]
)
async def test_objects_of_a_url_belong_to_the_step(
    tmp_path: Path, server: PackageServer, field: str, role: str
) -> None:
    server.files["/two.yaml"] = (MAP.format("a") + "---\n" + MAP.format("b")).encode()
    suite = _suite(tmp_path, {"tests/one/00-a.yaml": _step(server, field, "/two.yaml")})
    found = await fetch_objects(suite, HOST.download)
    step = found.test_dirs[0].cases[0].steps[0]
    names = [one.value["metadata"] for one in getattr(step.objects, role)]
    assert names == [{"name": "a"}, {"name": "b"}]
    assert str(getattr(step.objects, role)[1].place("metadata")) == f"{server.url}/two.yaml:8"
    assert step.downloads == ()


async def test_everything_that_cannot_be_read_is_told_with_its_line(
    tmp_path: Path, server: PackageServer
) -> None:
    server.files |= {"/text": b"no object", "/no-kind": b"apiVersion: v1\n"}
    files = {
        f"tests/one/0{number}-a.yaml": _step(server, "apply", path)
        for number, path in enumerate(["/absent", "/text", "/no-kind"])
    }
    with pytest.raises(SuiteInvalid) as error:
        await fetch_objects(_suite(tmp_path, files), HOST.download)
    text = str(error.value)
    assert "00-a.yaml:3: failed to fetch" in text
    assert f"{server.url}/text:1: the document is no Kubernetes object" in text
    assert f"{server.url}/no-kind:1: the object has no kind" in text


async def test_a_url_that_is_too_large_is_not_read(tmp_path: Path, server: PackageServer) -> None:
    server.files["/large"] = b"#" * (5 * 1024 * 1024)
    suite = _suite(tmp_path, {"tests/one/00-a.yaml": _step(server, "apply", "/large")})
    with pytest.raises(SuiteInvalid, match="larger than 4194304 bytes"):
        await fetch_objects(suite, HOST.download)


async def test_manifests_are_read_from_folders_files_and_urls_in_their_order(
    tmp_path: Path, server: PackageServer
) -> None:
    server.files["/url.yaml"] = MAP.format("url").encode()
    listed = (
        f"{{apiVersion: v1, kind: List, items: [{{apiVersion: v1, kind: ConfigMap, {_META}}}]}}"
    )
    suite = _suite(
        tmp_path,
        {
            "kudo-test.yaml": f"""
                crdDir: {tmp_path}/crds
                manifestDirs:
                - {server.url}/url.yaml
                - {tmp_path}/folder
                - {tmp_path}/file.yaml
                """,
            "crds/a.yaml": CRD.format("x.example.com"),
            "crds/b.yaml": MAP.format("no-crd"),
            "folder/b/c.yml": MAP.format("c"),
            "folder/a.json": listed,
            "folder/notes.txt": "{",
            "file.yaml": MAP.format("file"),
            "tests/one/00-a.yaml": MAP.format("a"),
        },
    )
    objects = await setup_objects(suite, HOST.download)
    assert [_name(one.value) for one in objects.crds] == ["x.example.com"]
    assert [_name(one.value) for one in objects.manifests] == ["url", "item", "c", "file"]


_META = "metadata: {name: item}"


def _name(value: Mapping[str, object]) -> object:
    metadata = value["metadata"]
    assert isinstance(metadata, dict)
    return metadata["name"]


async def test_manifests_that_cannot_be_read_are_told_with_the_line_that_names_them(
    tmp_path: Path,
) -> None:
    suite = _suite(
        tmp_path,
        {
            "kudo-test.yaml": f"manifestDirs: [{tmp_path}/none]\n",
            "tests/one/00-a.yaml": MAP.format("a"),
        },
    )
    with pytest.raises(SuiteInvalid, match=r"kudo-test\.yaml:3: .*none cannot be read"):
        await setup_objects(suite, HOST.download)


async def test_an_archive_of_cases_is_unpacked(tmp_path: Path, server: PackageServer) -> None:
    server.files["/cases.tgz"] = _archive({"cases/one/00-a.yaml": MAP.format("a")})
    server.files["/plain.tar.gz"] = _archive({"one/00-a.yaml": MAP.format("a")})
    urls = [Text(f"{server.url}/{name}", Place("s", 1)) for name in ("cases.tgz", "plain.tar.gz")]
    first, second = await fetch_cases(tuple(urls), tmp_path / "unpacked", HOST.download)
    assert (first.folder / "one/00-a.yaml").read_text() == MAP.format("a")
    assert (second.folder / "one/00-a.yaml").read_text() == MAP.format("a")
    assert first.folder.name == "cases"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_archive({"../out.yaml": "x"}), "paths must not contain .."),
        (_archive({"/etc/out.yaml": "x"}), "absolute paths are not allowed"),
        (_archive({"link": ""}, tarfile.SYMTYPE), "not a symbolic link"),
        (gzip.compress(b"\0" * (80 * 1024 * 1024)), "unpacks to more than"),
        (b"no archive", "not valid gzip data"),
    ],
)
async def test_an_archive_that_is_not_safe_is_not_unpacked(
    tmp_path: Path, server: PackageServer, content: bytes, message: str
) -> None:
    server.files["/bad.tgz"] = content
    folder = tmp_path / "unpacked"
    url = Text(f"{server.url}/bad.tgz", Place("suite.yaml", 7))
    with pytest.raises(SuiteInvalid, match=r"suite\.yaml:7: ") as error:
        await fetch_cases((url,), folder, HOST.download)
    assert message in str(error.value)
    assert not folder.exists()
    assert not (tmp_path / "out.yaml").exists()


def test_the_cases_of_archives_are_read_once_however_often_the_suite_is(
    tmp_path: Path, server: PackageServer
) -> None:
    server.files["/cases.tgz"] = _archive({"cases/far/00-a.yaml": MAP.format("a")})
    (tmp_path / "tests/near").mkdir(parents=True)
    (tmp_path / "tests/near/00-a.yaml").write_text(MAP.format("a"))
    url = f"{server.url}/cases.tgz"
    request = SuiteRequest(test_dirs=(str(tmp_path / "tests"), url))
    for _ in range(2):
        suite = with_archives(load_suite(request), request)
        found = [(folder.path, [case.name for case in folder.cases]) for folder in suite.test_dirs]
        assert found == [(str(tmp_path / "tests"), ["near"]), (url, ["far"])]
        assert suite.downloads == ()
    assert server.paths() == ["/cases.tgz"]
