"""One answer parsed: the same however its bytes are split, and never more than its limits."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeio.http1.parser import MAX_FIELD, MAX_HEADERS, ResponseParser

HEAD = b"HTTP/1.1 200 OK\r\n"

BODIES = st.binary(max_size=200)
INTERIM = st.sampled_from(
    [
        b"",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Encoding: gzip\r\n\r\n" * 2,
    ]
)


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Return the bytes of an answer, and its body."""
    body = draw(BODIES)
    framing = draw(st.sampled_from(["length", "chunked"]))
    head = draw(INTERIM) + HEAD + b"X-A: b\r\n" * draw(st.integers(0, 3))
    if framing == "length":
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body, body
    chunked = b""
    for piece in split(body, draw(st.lists(st.integers(0, len(body)), max_size=5))):
        chunked += b"%x;a=b\r\n" % len(piece) + piece + b"\r\n" if piece else b""
    trailer = draw(st.sampled_from([b"", b"X-Trailer: c\r\n"]))
    chunked += b"0\r\n" + trailer + b"\r\n"
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked, body


def split(data: bytes, at: list[int]) -> list[bytes]:
    edges = [0, *sorted(at), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def parsed(*parts: bytes, bodiless: bool = False) -> ResponseParser:
    parser = ResponseParser(bodiless=bodiless)
    for part in parts:
        parser.feed(part)
    return parser


def outcome(parser: ResponseParser) -> tuple[object, ...]:
    state = parser.status, parser.complete, parser.reusable, bool(parser.failure)
    return (*state, parser.headers if parser.status else [], parser.take())


@given(answers(), st.lists(st.integers(0, 400), max_size=20))
def test_an_answer_is_the_same_wherever_it_is_split(
    answer: tuple[bytes, bytes], at: list[int]
) -> None:
    data, body = answer
    whole = outcome(parsed(data))
    assert whole[:4] == (200, True, True, False)
    assert whole[-1] == body
    assert outcome(parsed(*split(data, at))) == whole


@given(answers())
def test_an_answer_is_the_same_byte_by_byte(answer: tuple[bytes, bytes]) -> None:
    data, _ = answer
    assert outcome(parsed(*(bytes([one]) for one in data))) == outcome(parsed(data))


@given(
    answers(),
    st.integers(0, 400),
    st.binary(max_size=5),
    st.lists(st.integers(0, 400), max_size=20),
)
def test_bytes_put_somewhere_raise_nothing_and_fail_the_same(
    answer: tuple[bytes, bytes], where: int, extra: bytes, at: list[int]
) -> None:
    data = answer[0][:where] + extra + answer[0][where:]
    whole, pieces = parsed(data), parsed(*split(data, at))
    assert not (whole.complete and whole.failure)
    assert (pieces.complete, pieces.failure) == (whole.complete, whole.failure)
    if whole.complete:
        assert outcome(pieces) == outcome(whole)


@given(answers(), st.integers(1, 400))
def test_an_answer_that_was_cut_off_is_not_complete(answer: tuple[bytes, bytes], cut: int) -> None:
    parser = parsed(answer[0][: -min(cut, len(answer[0]))])
    parser.feed_eof()
    assert not parser.complete
    assert not parser.reusable


@pytest.mark.parametrize(
    ("data", "failure"),
    [
        (b"garbage\r\n\r\n", "Expected HTTP/"),
        (b"\x15\x03\x01\x00\x02\x02\x28", "Expected HTTP/"),
        (b"HTTP/1.1 99 No\r\n\r\n", "Invalid status code"),
        (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "Content-Length"),
        (HEAD + b"Content-Length: 1, 1\r\n\r\n", "Content-Length"),
        (HEAD + b"Content-Length: -1\r\n\r\n", "Content-Length"),
        (HEAD + b"Content-Length: 99999999999999999999\r\n\r\n", "Content-Length"),
        (HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding"),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "transfer encoding"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "chunk"),
        (HEAD + b"A : b\r\n\r\n", "header"),
        (HEAD + b"A: b\0c\r\n\r\n", "header"),
        (HEAD + b"A: b\r\n c\r\n\r\n", "header"),
        (b"HTTP/1.1 200 OK\nA: b\n\n", "CR"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "101"),
        (
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n\0",
            "101",
        ),
        (HEAD + b"A: " + b"b" * MAX_FIELD + b"\r\n\r\n", "a header of more than"),
        (HEAD + b"A: b\r\n" * (MAX_HEADERS + 1) + b"\r\n", "more than 128 headers"),
    ],
)
def test_what_is_malformed_is_named(data: bytes, failure: str) -> None:
    parser = parsed(data)
    assert failure.lower() in parser.failure.lower()
    assert not parser.complete


@pytest.mark.parametrize(
    "start",
    [
        HEAD + b"A: ",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA: ",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;",
    ],
    ids=["header", "trailer", "chunk extension"],
)
def test_a_line_without_end_is_not_kept(start: bytes) -> None:
    parser = parsed(start, *[b"a" * 2**16] * 5)
    assert parser.failure == "more than 262144 bytes of headers"


def test_answers_before_the_answer_do_not_go_on_for_ever() -> None:
    assert parsed(*[b"HTTP/1.1 100 Continue\r\n\r\n" * 1000] * 20).failure


def test_chunks_of_one_byte_are_kept_together() -> None:
    parser = parsed(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 10_000)
    assert len(parser._body) == 1
    assert parser.take() == b"a" * 10_000


def test_the_answer_to_a_head_ends_with_its_headers() -> None:
    parser = parsed(HEAD + b"Content-Length: 5\r\n\r\n", bodiless=True)
    assert parser.complete
    assert not parser.reusable


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_statuses_without_a_body_end_with_their_headers(status: bytes) -> None:
    parser = parsed(b"HTTP/1.1 " + status + b"\r\nContent-Length: 5\r\n\r\n")
    assert (parser.complete, parser.reusable, parser.take()) == (True, True, b"")


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    parser = parsed(HEAD + b"\r\n", b"ab", b"c")
    assert not parser.complete
    parser.feed_eof()
    assert (parser.complete, parser.reusable, parser.take()) == (True, False, b"abc")


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\n\r\n{}" + HEAD,
        HEAD + b"Content-Length: 2\r\n\r\n{}garbage",
    ],
)
def test_a_connection_is_not_used_again_after(data: bytes) -> None:
    parser = parsed(data)
    assert (parser.complete, parser.reusable, parser.take()) == (True, False, b"{}")


def test_what_follows_an_answer_later_changes_nothing_in_it() -> None:
    parser = parsed(HEAD + b"Content-Length: 2\r\n\r\n{}", HEAD + b"X: y\r\n\r\nmore")
    assert (parser.complete, parser.reusable, parser.take()) == (True, False, b"{}")
    assert parser.values(b"x") == []


def test_headers_keep_their_order_and_any_bytes() -> None:
    parser = parsed(HEAD + b"Warning: \xe4 \r\nwarning: b\r\nContent-Length: 0\r\n\r\n")
    assert parser.values(b"warning") == ["\ufffd", "b"]
