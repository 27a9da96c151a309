"""Requests as bytes: nothing in them can begin another header or another request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeio.http1.request import Request, header_line
from tests.unit.kubeio.http1.servers import answers, asked, get, put, serving, session


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
            request.encode("")
        assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("target", ["", "a", "/a b", "/ä", "http://elsewhere/"])
def test_a_path_is_quoted_and_begins_with_a_slash(target: str) -> None:
    with pytest.raises(ValueError, match="request: the path"):
        Request("GET", target, headers=()).encode("")


@given(st.text(), st.text())
def test_a_header_is_one_line_or_refused(name: str, value: str) -> None:
    try:
        line = header_line(name, value)
    except ValueError:
        return
    assert line.endswith("\r\n")
    assert not set(line[:-2]) & {"\r", "\n", "\0"}
    assert line.partition(": ")[0] == name


def test_the_bytes_of_a_request() -> None:
    headers = (("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    request = Request("PUT", "/a?b=c", headers=headers, body=b"{}", content_type="text/x")
    assert request.encode("Host: h\r\n") == (
        b"PUT /a?b=c HTTP/1.1\r\nHost: h\r\nImpersonate-Group: a\r\nImpersonate-Group: b\r\n"
        b"Content-Type: text/x\r\nContent-Length: 2\r\n\r\n{}"
    )
    assert Request("GET", "/", headers=()).encode("") == b"GET / HTTP/1.1\r\n\r\n"


async def test_a_refused_request_makes_no_connection() -> None:
    async with serving(answers) as server, session(server) as opened:
        with pytest.raises(ValueError, match="request: the path"):
            await opened.send(get("/a\r\nHost: b"))
        assert server.connections == 0


async def test_what_before_write_refuses_sends_nothing_and_keeps_the_connection() -> None:
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
        assert server.connections == 1


async def test_what_every_request_says() -> None:
    async with serving(answers) as server:
        async with session(server) as opened:
            await asked(opened, get())
        async with session(server, compression=True) as opened:
            await asked(opened, get())
    host = server.url.removeprefix("https://").encode()
    lines = b"GET /a HTTP/1.1\r\nHost: %s\r\nUser-Agent: test/1\r\nAccept-Encoding: %s\r\n\r\n"
    assert server.requests == [lines % (host, b"identity"), lines % (host, b"gzip")]
