"""Output of commands: cut by bytes, in lines and in all."""

from kudo_harness.running.processes import KEPT, LINE, SHOWN, Output


def _shown(*chunks: bytes) -> tuple[list[str], Output]:
    output = Output()
    lines = [line for chunk in chunks for line in output.feed(chunk)]
    return [*lines, *output.end()], output


def test_lines_are_complete_however_the_output_is_cut_into_chunks() -> None:
    assert _shown(b"one\ntw", b"o\n", b"\nth", b"ree")[0] == ["one", "two", "", "three"]


def test_a_long_line_is_cut_and_says_how_much_is_left_out() -> None:
    lines, output = _shown(b"x" * LINE, b"y" * 10, b"\nnext\n")
    assert lines == ["x" * LINE + "… (10 bytes left out)", "next"]
    assert output.tail.endswith("next")


def test_a_progress_bar_is_shown_as_it_stands_last() -> None:
    assert _shown(b"10%\r50%\r100%\r\n")[0] == ["100%"]


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert _shown(b"a\xffb\n")[0] == ["a\ufffdb"]


def test_more_than_the_limit_is_left_out_but_its_end_is_kept() -> None:
    output = Output()
    line = b"z" * 1023 + b"\n"
    shown = [one for _ in range(2 * SHOWN // 1024) for one in output.feed(line)]
    shown += list(output.feed(b"the end\n"))
    assert len(shown) == SHOWN // 1024 + 1
    assert shown[-1] == f"… more than {SHOWN} bytes: the rest of the output is left out"
    assert output.tail.endswith("the end")
    assert len(output.tail) <= KEPT
