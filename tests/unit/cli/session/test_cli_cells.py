"""Cells of tables: ages in the units of kubectl, and texts on one line."""

from datetime import UTC, datetime

from kubectl_kudo.session.blocks import duration, printable, since

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 31_536_000


def test_durations_have_at_most_two_units() -> None:
    rows = [
        (-5, "0s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 5, "2m5s"),
        (10 * MINUTE + 5, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (8 * HOUR + 5 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3 * HOUR, "2d3h"),
        (8 * DAY + 3 * HOUR, "8d"),
        (729 * DAY, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 30 * DAY, "2y30d"),
        (9 * YEAR, "9y"),
    ]
    assert [(seconds, duration(seconds)) for seconds, _ in rows] == rows


def test_the_time_since_a_timestamp_needs_one() -> None:
    now = datetime(2030, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert since("2030-05-06T07:00:00Z", now) == "8m9s"
    assert since("2030-05-06T07:00:00", now) == "8m9s"
    assert since("soon", now) == "<unknown>"


def test_a_text_is_shown_on_one_line_and_cut() -> None:
    assert printable(" a\n\tb\x07\u202e ") == "a b\\x07\\u202e"
    assert printable("abcdef", 4) == "abc…"
    assert printable("abcd", 4) == "abcd"
