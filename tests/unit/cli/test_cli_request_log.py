"""`-v` logs requests as kubectl does, on stderr, without secrets.

BTO-1: KUDO 0.19 logged to stdout, so that `-o json -v 3` could not be parsed.
"""

import base64
import json
import re
from pathlib import Path

import pytest

from kubectl_kudo.session.verbosity import RequestLog
from kubeio.connection.tracing import Answered, Sent
from tests.unit.cli.conftest import KUBECONFIG, Cli
from tests.unit.cli.fake_api import FakeApi

PREFIX = re.compile(r"I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ kubectl-kudo\] ")


def lines(err: str) -> list[str]:
    return [PREFIX.sub("", line) for line in err.splitlines()]


def test_data_stays_alone_on_stdout(kudo: Cli, installed: FakeApi) -> None:
    """BTO-1."""
    for level in ("3", "6", "9"):
        ran = kudo("get", "all", "-o", "json", "-v", level)
        assert [one["kind"] for one in json.loads(ran.out)] == [
            *("Operator", "OperatorVersion", "Instance")
        ]


def test_less_than_6_shows_no_requests(kudo: Cli, installed: FakeApi) -> None:
    assert kudo("get", "instances", "-v", "5").err == ""


def test_7_shows_headers_and_no_credential(
    kudo: Cli, installed: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "with-token"
    config.write_text(KUBECONFIG.format(url=installed.url).replace("{}", "{token: very-secret-1}"))
    monkeypatch.setenv("KUBECONFIG", str(config))
    ran = kudo("get", "instances", "-v", "7")
    shown = lines(ran.err)
    assert "    Authorization: Bearer <masked>" in shown
    assert "    Accept: application/json" in shown
    assert re.fullmatch(r"Response Status: 200 OK in \d+ milliseconds", shown[-1])
    assert "very-secret-1" not in ran.err
    assert "Body" not in ran.err


def test_8_cuts_bodies_and_9_cuts_them_later(kudo: Cli, installed: FakeApi) -> None:
    parameters = {f"LONG{number}": "x" * 100 for number in range(200)}
    installed.objects["instances", "tea"]["spec"]["parameters"] = parameters
    for level, longest in (("8", 1024), ("9", 10240)):
        bodies = [
            line.removeprefix("Response Body: ")
            for line in lines(kudo("get", "instances", "-v", level).err)
            if line.startswith("Response Body: ")
        ]
        found = re.fullmatch(r"(.*) \[truncated \d+ chars\]", bodies[-1])
        assert found
        assert len(found[1]) == longest


def test_bodies_have_no_secrets(kudo: Cli, installed: FakeApi) -> None:
    installed.objects["instances", "tea"]["spec"]["parameters"] = {"PASSWORD": "hunter2hunter2"}
    ran = kudo("get", "instances", "-v", "10")
    assert '"PASSWORD":"(redacted)"' in ran.err
    assert "hunter2" not in ran.err
    ran = kudo("update", "--instance", "tea", "-p", "PASSWORD=milk-and-sugar", "-v", "10")
    assert "Request Body: " in ran.err
    assert "milk-and-sugar" not in ran.err


def test_a_secret_of_one_answer_is_not_shown_in_the_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = RequestLog(8)
    data = base64.b64encode(b"correct-horse").decode()
    about = Sent("GET", "http://x/y", (), None)
    items = [{"metadata": {"name": "s"}, "data": {"p": data}}]
    listed = {"apiVersion": "v1", "kind": "SecretList", "items": items}
    texts = [json.dumps(listed), json.dumps({"kind": "Pod", "note": "correct-horse"}), "not JSON"]
    for text in texts:
        log.body(about, text.encode(), len(text))
    err = capsys.readouterr().err
    assert "correct-horse" not in err
    assert data not in err
    assert "Response Body: not JSON" in err


def test_a_body_that_was_not_read_whole_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    RequestLog(8).body(Sent("GET", "http://x/y", (), None), b'{"a', 2**21)
    assert lines(capsys.readouterr().err) == [f"Response Body: ({2**21} bytes)"]


def test_a_request_without_an_answer_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    log = RequestLog(6)
    log.answered(Sent("GET", "http://x/y", (), None), Answered(0, (), 0.002, "no route"))
    assert lines(capsys.readouterr().err) == ["GET http://x/y failed: no route in 2 milliseconds"]
