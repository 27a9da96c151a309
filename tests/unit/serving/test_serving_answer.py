"""Head and body of an answer leave in one write, and nothing is lost on the way."""

import asyncio

from serving.protocol import JoinedWrites


class Recorder(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed
        self.written.append(bytes(data))

    def close(self) -> None:
        self.closed = True


async def test_writes_of_one_tick_go_out_together_in_their_order() -> None:
    recorder = Recorder()
    joined = JoinedWrites(recorder)
    joined.write(b"head ")
    joined.write(b"body")
    assert recorder.written == []
    await asyncio.sleep(0)
    assert recorder.written == [b"head body"]


async def test_writes_of_the_next_tick_go_out_after_them() -> None:
    recorder = Recorder()
    joined = JoinedWrites(recorder)
    for text in (b"one", b"two"):
        joined.write(text)
        await asyncio.sleep(0)
    assert recorder.written == [b"one", b"two"]


async def test_what_was_written_before_the_close_still_goes_out() -> None:
    recorder = Recorder()
    joined = JoinedWrites(recorder)
    joined.write(b"last words")
    joined.close()
    assert recorder.written == [b"last words"]
    assert recorder.closed
    await asyncio.sleep(0)
    assert recorder.written == [b"last words"]


async def test_everything_else_is_the_transports_own() -> None:
    assert JoinedWrites(Recorder()).get_extra_info("peername") == ("127.0.0.1", 1)  # type: ignore[operator]
