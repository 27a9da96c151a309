"""The value of a secret parameter is in nothing that the command line prints, at any verbosity."""

import base64
import json
import urllib.parse
from pathlib import Path
from typing import Any, Final

import pytest

from tests.unit.cli.conftest import VERSION, Cli, Ran
from tests.unit.cli.fake_api import FakeApi, status

CANARY: Final = "canary/7f3a+zq"
FORMS: Final = (
    CANARY,
    *(base64.b64encode(b"x" * n + CANARY.encode()).decode()[2 * n : -4] for n in (0,)),
    CANARY.encode().hex(),
    urllib.parse.quote(CANARY, safe=""),
    json.dumps(CANARY)[1:-1],
)
# Neither name tells of a secret: only the declaration does.
SOURCE: Final = {"name": "PIN", "secretKeyRef": {"name": "door", "key": "pin"}}


def assert_hidden(ran: Ran) -> None:
    for form in FORMS:
        assert form not in ran.out
        assert form not in ran.err


@pytest.fixture
def door(installed: FakeApi) -> FakeApi:
    """Return the server with an Instance whose secret parameter comes from a Secret."""
    spec = installed.objects["operatorversions", VERSION]["spec"]
    spec["parameters"] = [{"name": "PIN", "secret": True}, {"name": "CUPS"}]
    data = {"pin": base64.b64encode(CANARY.encode()).decode()}
    # What `kubectl apply` leaves: the metadata of a Secret may have its content as well.
    applied = json.dumps({"kind": "Secret", "data": data, "stringData": {"pin": CANARY}})
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": applied}
    installed.add(
        "secrets", {"metadata": {"name": "door", "annotations": annotations}, "data": data}
    )
    tea = installed.objects["instances", "tea"]
    tea["spec"]["parametersFrom"] = [SOURCE]
    status("COMPLETE")(tea)
    record = {"digest": "d", "uid": "u", "resourceVersion": "1"}
    tea["status"]["lastRun"] = {"plan": "deploy", "uid": "u", "secrets": {"PIN": record}}
    return installed


READS: Final = (
    "get instances",
    "get all -o yaml",
    "describe instance tea",
    "describe instance tea -o json",
    "plan status --instance tea",
    "plan status --instance tea -o yaml",
    "plan history --instance tea",
    "plan history --instance tea -o json",
    "why tea",
    "rbac --instance tea",
    "update --instance tea -p PIN@secret=door/pin",
    "update --instance tea -p CUPS=3 --dry-run=client -o yaml",
    "update --instance tea -p PIN@secret=other/pin --dry-run=server -o json",
    "plan trigger --instance tea --name deploy",
    "uninstall --instance tea --dry-run=client",
)


@pytest.mark.parametrize("level", ["0", "9"])
def test_what_stands_in_the_secret_is_not_printed(kudo: Cli, door: FakeApi, level: str) -> None:
    for command in READS:
        ran = kudo(*command.split(), "-v", level)
        assert ran.code in {0, 1}, (command, ran.err)
        assert_hidden(ran)


def test_a_bundle_has_none_of_it(kudo: Cli, door: FakeApi, tmp_path: Path) -> None:
    folder = str(tmp_path / "bundle")
    assert_hidden(kudo("diagnostics", "collect", "--instance", "tea", "-O", folder))
    files = [path.read_bytes() for path in (tmp_path / "bundle").rglob("*") if path.is_file()]
    assert files
    for form in FORMS:
        assert not any(form.encode() in content for content in files)


# Compat mode stores a plain value, which the Instance itself then shows; nothing else does.


PLAIN: Final[tuple[tuple[str, ...], ...]] = (
    ("update", "--instance", "tea", "-p", f"PIN={CANARY}"),
    ("update", "--instance", "tea", "-p", f"PIN={CANARY}", "--dry-run=client"),
    ("update", "--instance", "tea", "-p", "PIN=no", "-p", f"PIN@secret={CANARY}"),
    ("update", "--instance", "tea", "-p", f"PIN@secret=a/{CANARY}"),
)


@pytest.mark.parametrize("level", ["0", "9"])
def test_a_value_that_was_typed_is_not_repeated(kudo: Cli, door: FakeApi, level: str) -> None:
    for typed in PLAIN:
        assert_hidden(kudo(*typed, "-v", level))
    for command in READS:
        if "-o yaml" not in command:  # what is stored is data there
            assert_hidden(kudo(*command.split(), "-v", level))


def test_a_bundle_hides_a_plain_value(kudo: Cli, door: FakeApi, tmp_path: Path) -> None:
    tea: Any = door.objects["instances", "tea"]
    tea["spec"] |= {"parameters": {"PIN": CANARY, "CUPS": "2"}, "parametersFrom": []}
    folder = str(tmp_path / "bundle")
    assert_hidden(kudo("diagnostics", "collect", "--instance", "tea", "-O", folder))
    files = [path.read_bytes() for path in (tmp_path / "bundle").rglob("*") if path.is_file()]
    for form in FORMS:
        assert not any(form.encode() in content for content in files)
