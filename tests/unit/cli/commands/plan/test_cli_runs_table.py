"""`plan history` of an Instance that has a history: the tree of 0.19, the table and the data."""

import json
from typing import Any

import pytest

from kubectl_kudo.commands.plan.history import cause, runs_table, took
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi, status

JsonObject = dict[str, Any]
UIDS = ("3f2a1b2c-0000-4000-8000-000000000000", "9e8d7c6b-0000-4000-8000-000000000000")
RECORDS: list[JsonObject] = [
    {
        "plan": "deploy",
        "uid": UIDS[0],
        "status": "COMPLETE",
        "startedAt": "2030-05-06T07:20:00Z",
        "finishedAt": "2030-05-06T07:25:10Z",
        "suspendedSeconds": 60,
        "operatorVersion": "kitchen/teapot-1",
        "cause": {"retryOf": UIDS[1], "from": "main.app", "requestedBy": "jane"},
    },
    {
        "plan": "deploy",
        "uid": UIDS[1],
        "status": "FATAL_ERROR",
        "reason": "TimedOut",
        "message": "task pot was not done",
        "startedAt": "2030-05-06T07:08:09Z",
        "finishedAt": "2030-05-06T07:18:10Z",
        "operatorVersion": "shelf/teapot-1",
        "cause": {"parameters": ["CUPS", "TEA"], "parametersLeftOut": 3},
        "failedStep": "main.app",
    },
]


@pytest.fixture
def tea(installed: FakeApi, monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """Return the server with an instance `tea` that has two runs on record."""
    monkeypatch.setenv("TZ", "UTC")
    instance = installed.objects["instances", "tea"]
    status("COMPLETE", done=True)(instance)
    instance["status"]["history"] = RECORDS
    return installed


def rows(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.split("   ") if cell.strip()] for line in text.split("\n")
    ]


def test_the_table_stands_below_the_tree_of_0_19(kudo: Cli, tea: FakeApi) -> None:
    ran = kudo("plan", "history", "--instance", "tea")
    tree = ".\n└── deploy (COMPLETE)\n\n"
    assert ran.out.startswith(tree)
    assert rows(ran.out.removeprefix(tree)) == [
        [
            *("PLAN", "UID", "STATUS", "REASON", "STARTED", "DURATION", "VERSION", "CAUSE"),
            "FAILED STEP",
        ],
        [
            *("deploy", "3f2a1b2c", "COMPLETE", "<none>", "2030-05-06T07:20:00", "5m10s"),
            *("teapot-1", "retry of 9e8d7c6b from main.app, user jane", "<none>"),
        ],
        [
            *("deploy", "9e8d7c6b", "FATAL_ERROR", "TimedOut", "2030-05-06T07:08:09", "10m"),
            *("shelf/teapot-1", "parameters CUPS, TEA and 3 more", "main.app"),
        ],
        [],
    ]


def test_an_instance_without_a_history_has_what_it_had(kudo: Cli, tea: FakeApi) -> None:
    del tea.objects["instances", "tea"]["status"]["history"]
    assert kudo("plan", "history", "--instance", "tea").out == ".\n└── deploy (COMPLETE)\n\n"
    found = json.loads(kudo("plan", "history", "--instance", "tea", "-o", "json").out)
    assert found == tea.objects["instances", "tea"]["status"]["planStatus"]
    ran = kudo("plan", "history", "--instance", "tea", "-o", "wide")
    assert (ran.code, ran.out, ran.err) == (0, "", "No run on record for instance tea.\n")


def test_what_asked_for_a_run() -> None:
    rows = [
        ({}, ""),
        ({"requestedBy": "jane"}, "user jane"),
        ({"parameters": ["A"], "requestedBy": "jane"}, "parameters A, user jane"),
        ({"parent": "shop"}, "parent shop"),
        ({"retryOf": "1"}, "retry of 1"),
    ]
    assert [(found, cause({"cause": found})) for found, _ in rows] == rows


def test_how_long_a_run_took() -> None:
    rows = [
        ("2030-05-06T07:08:09Z", "2030-05-06T07:08:10Z", "1s"),
        ("2030-05-06T07:08:09Z", "", "<unknown>"),
        ("yesterday", "2030-05-06T07:08:10Z", "<unknown>"),
    ]
    assert [
        (started, finished, took({"startedAt": started, "finishedAt": finished}))
        for started, finished, _ in rows
    ] == rows


def test_what_a_user_chose_is_harmless_and_bounded() -> None:
    record = {"plan": "deploy", "uid": "\x1b[2J" + "x" * 900, "cause": {"requestedBy": "y" * 900}}
    metadata = {"name": "tea", "namespace": "kitchen"}
    shown = runs_table({"metadata": metadata, "status": {"history": [record]}}).plain()
    assert shown.replace("\n", "").isprintable()
    assert max(map(len, shown.splitlines())) < 300
