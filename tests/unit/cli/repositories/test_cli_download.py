"""Downloads: TLS, retries, redirects, credentials, limits, proxies."""

import base64
import re
from pathlib import Path

import pytest

from kubectl_kudo.repositories.downloader import Downloader
from kubectl_kudo.repositories.urls import Credentials, DownloadError, Unreachable
from kubectl_kudo.session.errors import CliError
from tests.unit.cli.conftest import Cli
from tests.unit.cli.repositories.server import PackageServer, serving, status, to, truncated

LIMIT = 1000
FILE = b"\x1f\x8b content"


def downloader(repository: str = "") -> Downloader:
    return Downloader(Credentials(repository), pauses=(0.0, 0.0))


async def get(url: str, repository: str = "") -> bytes | None:
    return (await downloader(repository).get(url, limit=LIMIT)).content


async def failure(url: str, repository: str = "") -> str:
    with pytest.raises(CliError) as caught:
        await get(url, repository)
    return str(caught.value)


async def test_a_file_comes_over_tls_as_it_is(secure: PackageServer) -> None:
    secure.files["/a.tgz"] = FILE
    assert await get(f"{secure.url}/a.tgz") == FILE
    assert secure.sent("User-Agent")[0].startswith("KUDO/")
    assert secure.sent("Accept-Encoding") == ["identity"]


async def test_a_server_that_is_not_trusted_is_asked_once_and_told(
    secure: PackageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    text = await failure(f"{secure.url}/a.tgz")
    assert "the certificate of the server is not trusted: " in text
    assert "for a CA of your own set SSL_CERT_FILE" in text
    assert secure.requests == []


# BTO-15: a truncated download counted as success; there were no retries.
@pytest.mark.parametrize("fault", [truncated, status(503), status(429)])
async def test_a_passing_failure_is_tried_again(server: PackageServer, fault: object) -> None:
    async def well(_: object) -> object:
        del server.answers["/a.tgz"]
        return await server.handle(_)  # type: ignore[arg-type]

    server.files["/a.tgz"] = FILE
    server.answers["/a.tgz"] = [fault, fault, well]  # type: ignore[list-item]
    assert await get(f"{server.url}/a.tgz") == FILE
    assert server.paths()[:3] == ["/a.tgz"] * 3


async def test_three_attempts_are_made(server: PackageServer) -> None:
    server.answers["/a.tgz"] = [truncated]
    with pytest.raises(Unreachable, match=r": the answer ended too early$"):
        await get(f"{server.url}/a.tgz")
    assert len(server.requests) == 3


async def test_a_lasting_failure_is_told_at_once(server: PackageServer) -> None:
    url = f"{server.url}/a.tgz"
    assert await failure(url) == f"failed to fetch {url} : 404 Not Found"
    assert len(server.requests) == 1


async def test_no_answer_in_time_is_told(server: PackageServer) -> None:
    async def never(_: object) -> object:
        import asyncio

        return await asyncio.Event().wait()

    server.answers["/a.tgz"] = [never]  # type: ignore[list-item]
    with pytest.raises(Unreachable, match="no answer in time"):
        await Downloader(timeout=0.2, pauses=()).get(f"{server.url}/a.tgz", limit=LIMIT)


async def test_a_host_that_is_not_there_is_told() -> None:
    with serving() as gone:
        url = f"{gone.url}/a.tgz"
    with pytest.raises(Unreachable, match=f"failed to fetch {url} : "):
        await get(url)


async def test_what_is_too_large_is_not_read_to_its_end(server: PackageServer) -> None:
    server.files["/announced"] = bytes(LIMIT + 1)

    async def chunked(request: object) -> object:
        from aiohttp import web

        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)  # type: ignore[arg-type]
        for _ in range(2):
            await response.write(bytes(LIMIT))
        return response

    server.answers["/chunked"] = [chunked]  # type: ignore[list-item]
    for path in ("/announced", "/chunked"):
        text = await failure(f"{server.url}{path}")
        assert text.endswith(f"{path} : it is larger than {LIMIT} bytes")
    assert len(server.requests) == 2


async def test_an_etag_saves_the_download(server: PackageServer) -> None:
    server.files["/index.yaml"] = FILE
    first = await downloader().get(f"{server.url}/index.yaml", limit=LIMIT)
    again = await downloader().get(f"{server.url}/index.yaml", limit=LIMIT, etag=first.etag)
    assert (first.content, again.content) == (FILE, None)


# Redirects


async def test_redirects_are_followed_five_times(server: PackageServer) -> None:
    server.files["/end"] = FILE
    for step in range(5):
        server.answers[f"/{step}"] = [to(f"/{step + 1}" if step < 4 else "/end")]
    assert await get(f"{server.url}/0") == FILE
    server.answers["/loop"] = [to("/loop")]
    url = f"{server.url}/loop"
    assert await failure(url) == f"failed to fetch {url} : more than 5 redirects"


async def test_a_redirect_cannot_read_local_files_or_leave_tls(
    server: PackageServer, secure: PackageServer, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    server.answers["/a"] = [to(f"file://{tmp_path}/secret")]
    assert "must not send readers to local files" in await failure(f"{server.url}/a")
    server.answers["/b"] = [to("ftp://localhost/")]
    assert "not a URL that begins with https://" in await failure(f"{server.url}/b")
    secure.answers["/c"] = [to(f"{server.url}/plain")]
    assert "a redirect from https to http is not followed" in await failure(f"{secure.url}/c")
    assert "/plain" not in server.paths()


@pytest.mark.parametrize(
    "target",
    [
        *("http://[::1", "http://[x]/", "//[", "http://a:99999999/", "http://a:x/", "http://"),
        *("http:///x", "http://%", "http://a b/", "http://\u2100/", "http://xn--/", "http://.."),
        *(f"http://{'a' * 70}/", "http://a\\b/", "http://@/", "http://:80/", "https:x", "x:y"),
    ],
)
async def test_a_redirect_to_what_is_not_a_url_is_an_error(
    server: PackageServer, target: str
) -> None:
    server.answers["/a"] = [to(target)] * 9
    assert re.match("(failed to fetch|cannot download) http", await failure(f"{server.url}/a"))


# Credentials


BASIC = "Basic " + base64.b64encode(b"kay:s3cret").decode()


async def test_the_token_goes_to_the_repository_alone(
    secure: PackageServer, server: PackageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUDO_REPO_TOKEN", "t0ken")
    secure.files["/a.tgz"] = server.files["/a.tgz"] = FILE
    await get(f"{secure.url}/a.tgz", f"{secure.url}/v1")
    assert secure.sent("Authorization") == ["Bearer t0ken"]
    # Another port is another host, and so is another name of the same address.
    await get(f"{server.url}/a.tgz", f"{secure.url}/v1")
    await get(f"{secure.url.replace('localhost', '127.0.0.1')}/a.tgz", f"{secure.url}/v1")
    await get(f"{secure.url}/a.tgz")
    assert server.sent("Authorization") == [""]
    assert secure.sent("Authorization") == ["Bearer t0ken", "", ""]


async def test_a_redirect_to_another_host_gets_no_credentials(
    secure: PackageServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = secure.url.replace("localhost", "127.0.0.1")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login kay password s3cret\n")
    monkeypatch.setenv("KUDO_REPO_TOKEN", "t0ken")
    secure.files["/a.tgz"] = FILE
    secure.answers["/moved"] = [to("/here")]
    secure.answers["/here"] = [to(f"{other}/a.tgz")]
    assert await get(f"{secure.url}/moved", secure.url) == FILE
    assert secure.sent("Authorization") == ["Bearer t0ken", "Bearer t0ken", ""]


async def test_user_and_password_come_from_the_environment_or_netrc(
    secure: PackageServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secure.files["/a.tgz"] = FILE
    monkeypatch.setenv("KUDO_REPO_USERNAME", "kay")
    monkeypatch.setenv("KUDO_REPO_PASSWORD", "s3cret")
    await get(f"{secure.url}/a.tgz", secure.url)
    monkeypatch.delenv("KUDO_REPO_USERNAME")
    netrc = tmp_path / "own netrc"
    netrc.write_text("machine localhost login kay password s3cret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    await get(f"{secure.url}/a.tgz")
    assert secure.sent("Authorization") == [BASIC, BASIC]


async def test_what_is_wrong_with_credentials_is_told_without_them(
    secure: PackageServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    url = f"{secure.url}/a.tgz"
    secure.answers["/a.tgz"] = [status(401)]
    assert "give credentials in KUDO_REPO_TOKEN, in KUDO_REPO_USERNAME and" in await failure(url)
    (tmp_path / ".netrc").write_text("machine localhost login kay s3cret\n")
    text = await failure(url)
    assert "it is no valid netrc file" in text
    assert "s3cret" not in text
    monkeypatch.setenv("KUDO_REPO_USERNAME", "kay")
    monkeypatch.setenv("KUDO_REPO_TOKEN", "s3cret")
    assert "set either KUDO_REPO_TOKEN or" in await failure(url, secure.url)
    monkeypatch.delenv("KUDO_REPO_USERNAME")
    monkeypatch.setenv("KUDO_REPO_TOKEN", "s3\ncret")
    assert await failure(url, secure.url) == (
        "KUDO_REPO_TOKEN has characters that no HTTP header can have"
    )


def test_credentials_are_not_sent_in_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUDO_REPO_TOKEN", "t0ken")
    url = "http://packages.example.org/v1"
    assert Credentials(url).header(url) == ""
    assert Credentials("http://localhost:1").header("http://localhost:1/a") == "Bearer t0ken"


async def test_messages_show_no_credentials_of_a_url(server: PackageServer) -> None:
    url = server.url.replace("//", "//kay:s3cret@") + "/none?signature=s3cret"
    text = await failure(url)
    assert text == f"failed to fetch {server.url}/none?... : 404 Not Found"


# Other schemes, and proxies


async def test_file_urls_are_read(tmp_path: Path) -> None:
    # BTO-16: packages could not be read from file URLs, and errors of reading were not told.
    (tmp_path / "a b.tgz").write_bytes(FILE)
    assert await get(f"file://{tmp_path}/a%20b.tgz") == FILE
    assert (await failure(f"file://{tmp_path}/none")).endswith("none : No such file or directory")
    (tmp_path / "large").write_bytes(bytes(LIMIT + 1))
    assert "larger than" in await failure(f"file://{tmp_path}/large")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.org/a", "not a URL that begins with https://, http:// or file://"),
        ("file://example.org/a", "a file URL must not name a host"),
        ("https:///a", "the URL has no host"),
        ("https://example.org:port/a", "not a URL: "),
        ("https://[::1/a", "not a URL: "),
    ],
)
async def test_other_urls_are_refused(url: str, why: str) -> None:
    with pytest.raises(DownloadError, match=why):
        await get(url)


async def test_the_proxy_of_the_environment_is_used(
    server: PackageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def proxied(request: object) -> object:
        from aiohttp import web

        return web.Response(body=str(request.headers["Host"]).encode())  # type: ignore[attr-defined]

    server.answers["/a.tgz"] = [proxied]  # type: ignore[list-item]
    monkeypatch.setenv("http_proxy", server.url.replace("//", "//kay:s3cret@"))
    assert await get("http://packages.invalid/a.tgz") == b"packages.invalid"
    assert server.sent("Proxy-Authorization") == [BASIC]
    monkeypatch.setenv("no_proxy", "localhost")
    server.files["/b.tgz"] = FILE
    assert await get(f"{server.url}/b.tgz") == FILE


def test_downloads_are_shown_without_credentials(
    run: Cli, server: PackageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUDO_REPO_TOKEN", "very-secret-1")
    server.files["/repo/index.yaml"] = b"apiVersion: v1\nentries: {}\n"
    ran = run("repo", "add", "mine", f"{server.url}/repo", "-v", "7")
    shown = [line.partition("] ")[2] for line in ran.err.splitlines()]
    assert f"GET {server.url}/repo/index.yaml" in shown
    assert "    Authorization: Bearer <masked>" in shown
    assert "very-secret-1" not in ran.err
