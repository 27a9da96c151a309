"""Messages that are shortened."""

from hypothesis import given
from hypothesis import strategies as st

from kudo.api.problems import abridged, one_line


@given(st.text(max_size=400), st.integers(20, 300))
def test_a_message_that_is_too_long_keeps_its_beginning_and_its_end(text: str, most: int) -> None:
    short = abridged(text, most)
    assert len(short) <= most
    if len(text) <= most:
        assert short == text
    else:
        begin, end = short[: most // 2], short[-(most // 4) :]
        assert text.startswith(begin)
        assert text.endswith(end)


def test_what_to_do_is_not_cut_away() -> None:
    text = "failed to apply Service: " + "x" * 5000 + "; remove it with kubectl edit"
    assert abridged(text, 100).endswith("xx; remove it with kubectl edit")


@given(st.text(max_size=400), st.integers(1, 100))
def test_a_text_of_anybody_is_told_in_one_line(text: str, most: int) -> None:
    line = one_line(text, most)
    assert line.isprintable()
    assert len(line) <= most + 1
    assert line == " ".join(line.split())
