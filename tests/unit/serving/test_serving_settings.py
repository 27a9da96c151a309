"""Options as flags and environment variables."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import pytest

from serving.settings import Option, boolean, log_level, one_of, parse, port, seconds

OPTIONS = (
    Option("--port", "APP_PORT", "port to listen on", 9443, port),
    Option("--wait-seconds", "APP_WAIT_SECONDS", "how long to wait, 100 % of it", 1.5, seconds),
    Option("--file", "APP_FILE", "file to read", type=Path, required=True),
)


def parsed(*argv: str, **environ: str) -> Namespace:
    return run(argv, environ)


def run(argv: tuple[str, ...], environ: Mapping[str, str]) -> Namespace:
    return parse(OPTIONS, prog="app", description="An app.", argv=argv, environ=environ)


def test_the_flag_wins_over_the_variable_and_the_variable_over_the_default() -> None:
    found = parsed("--file", "f", "--port", "1", APP_PORT="2", APP_WAIT_SECONDS="3")
    assert vars(found) == {"port": 1, "wait_seconds": 3.0, "file": Path("f")}


def test_defaults_stand_where_nothing_is_given() -> None:
    found = parsed(APP_FILE="f")
    assert (found.port, found.wait_seconds) == (9443, 1.5)


def test_an_empty_variable_counts_as_unset() -> None:
    assert parsed("--file", "f", APP_PORT="").port == 9443


@pytest.mark.parametrize(
    ("argv", "environ", "text"),
    [
        (("--file", "f", "--port", "x"), {}, "--port: 'x' is no port"),
        (("--file", "f"), {"APP_PORT": "99999"}, "APP_PORT: '99999' is no port"),
        (("--file", "f"), {"APP_WAIT_SECONDS": "inf"}, "'inf' is no number of seconds"),
        ((), {}, "--file is required (or environment variable APP_FILE)"),
        (("--file", "f", "--prot", "1"), {}, "--prot"),
        (("--file", "f", "--wait", "1"), {}, "--wait"),
    ],
)
def test_what_is_wrong_is_named_in_one_line_and_ends_with_code_2(
    argv: tuple[str, ...],
    environ: dict[str, str],
    text: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        run(argv, environ)
    assert caught.value.code == 2
    written = capsys.readouterr().err
    assert text in written
    assert len(written.splitlines()) == 1


def test_a_flag_that_is_given_hides_a_wrong_variable() -> None:
    assert parsed("--file", "f", "--port", "1", APP_PORT="nonsense").port == 1


def test_help_names_flag_variable_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parsed("--help")
    assert caught.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "--port PORT port to listen on [APP_PORT; default: 9443]" in text
    assert "100 % of it" in text
    assert "[APP_FILE; required]" in text


@pytest.mark.parametrize("text", ["-1", "65536", "1.0", "٣", "", "x"])
def test_what_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no port"):
        port(text)


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "x", ""])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no number of seconds"):
        seconds(text)


def test_a_choice_is_taken_in_any_case() -> None:
    assert log_level("INFO") == "info"
    with pytest.raises(ValueError, match="'loud' is none of a, b"):
        one_of("a", "b")("loud")


def test_a_boolean_is_true_or_false_in_any_case_and_nothing_else() -> None:
    assert boolean("TRUE")
    assert not boolean("false")
    with pytest.raises(ValueError, match="'yes' is neither true nor false"):
        boolean("yes")
