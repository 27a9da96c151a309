"""Requests as bytes: nothing in them can begin another header or another request."""

import pytest

from kubeio.connection.http.exchange import Request
from tests.unit.kubeio.http.servers import answers, asked, get, put, serving, session


@pytest.mark.parametrize("bad", ["\r", "\n", "\r\nA: b", "\0", "\x0b", "\x7f"])
def test_a_request_that_would_be_split_is_refused(bad: str) -> None:
    for request in (
        Request(f"GET{bad}", "/a", headers=()),
        Request("GET", f"/a{bad}", headers=()),
        Request("GET", "/a", headers=((f"A{bad}", "b"),)),
        Request("GET", "/a", headers=(("A", f"s3cret{bad}"),)),
        Request("PUT", "/a", headers=(), body=b"", content_type=f"a/b{bad}"),
    ):
        with pytest.raises(ValueError, match="request: ") as refused:
            request.check()
        assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("target", ["", "a", "/a b", "/ä", "http://elsewhere/", "/a#b", "/a?"])
async def test_a_path_that_another_one_would_be_asked_for_sends_nothing(target: str) -> None:
    async with serving(answers) as server, session(server) as opened:
        with pytest.raises(ValueError, match="request: the path"):
            await opened.send(get(target))
        assert server.connections == 0


@pytest.mark.parametrize("target", ["/", "//b/../c", "/a%2Fb%25?c=d%20e&f=a+b&%3D", "/a?b?c;d='~"])
async def test_a_path_arrives_as_it_is(target: str) -> None:
    async with serving(answers) as server, session(server) as opened:
        await asked(opened, get(target))
    assert server.requests[0].startswith(f"GET {target} HTTP/1.1\r\n".encode())


async def test_a_write_says_what_it_holds() -> None:
    headers = (("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    request = Request("DELETE", "/a?b=c", headers=headers, body=b"{}", content_type="text/x")
    async with serving(answers) as server, session(server) as opened:
        await asked(opened, request)
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert body == b"{}"
    assert lines[0] == b"DELETE /a?b=c HTTP/1.1"
    assert {
        b"Impersonate-Group: a",
        b"Impersonate-Group: b",
        b"Content-Type: text/x",
        b"Content-Length: 2",
    } < set(lines)


async def test_a_refused_request_makes_no_connection() -> None:
    async with serving(answers) as server, session(server) as opened:
        with pytest.raises(ValueError, match="request: the path"):
            await opened.send(get("/a\r\nHost: b"))
        assert server.connections == 0


async def test_what_before_write_refuses_sends_nothing() -> None:
    def before_write() -> None:
        raise LookupError

    async with serving(answers) as server, session(server, limit=1) as opened:
        await asked(opened, get("/before"))
        request = put(before_write=before_write)
        with pytest.raises(LookupError):
            await opened.send(request)
        assert isinstance(request.refusal, LookupError)
        assert not request.sent
        await asked(opened, get("/after"))
        assert [one.split()[1] for one in server.requests] == [b"/before", b"/after"]


async def test_what_every_request_says() -> None:
    async with serving(answers) as server:
        async with session(server) as opened:
            await asked(opened, get())
        async with session(server, compression=True) as opened:
            await asked(opened, get())
    host = server.url.removeprefix("https://").encode()
    for request, encoding in zip(server.requests, (b"identity", b"gzip"), strict=True):
        assert sorted(request.rstrip().split(b"\r\n")) == [
            b"Accept-Encoding: " + encoding,
            b"Accept: */*",
            b"GET /a HTTP/1.1",
            b"Host: " + host,
            b"User-Agent: test/1",
        ]


async def test_an_answer_that_goes_on_is_not_compressed() -> None:
    async with serving(answers) as server, session(server, compression=True) as opened:
        (await opened.send(get(), idle_timeout=5.0)).close()
    assert b"\r\nAccept-Encoding: identity\r\n" in server.requests[0]
