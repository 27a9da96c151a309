"""Every verb that writes says that the webhook does not answer, and what to look at."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi

SAID = (
    'failed calling webhook "mutate.instance-admission.kudo.dev": failed to call webhook: Post '
    '"https://kudo-webhook.kudo-system.svc:443/mutate?timeout=5s": no endpoints available for '
    'service "kudo-webhook"'
)
DOWN = (500, SAID)
LOOK = """\
  The webhook of KUDO does not answer. Look at its Deployment, Service and certificate:
    kubectl get deployments,services,endpointslices -n kudo-system
    kubectl kudo why
  For a report: kubectl kudo diagnostics collect
"""


@pytest.mark.parametrize(
    "words",
    [
        "update --instance tea -p CUPS=3",
        "plan trigger --instance tea --name deploy",
        "suspend --instance tea",
        "uninstall --instance tea",
        "adopt --instance tea",
    ],
)
def test_a_change_that_is_refused_says_what_to_look_at(
    kudo: Cli, installed: FakeApi, words: str
) -> None:
    for method in ("PATCH", "PUT", "DELETE"):
        installed.refusals[method, "instances"] = DOWN
    ran = kudo(*words.split())
    assert ran.code == 255
    assert LOOK in ran.err


def test_so_does_an_installation(kudo: Cli, api: FakeApi, package: Path) -> None:
    api.judgement = (500, "InternalError", SAID)
    ran = kudo("install", str(package), "--instance", "tea", "-p", "TEA=green")
    assert ran.code == 255
    assert LOOK in ran.err


def test_the_webhook_of_somebody_else_is_named(kudo: Cli, installed: FakeApi) -> None:
    message = SAID.replace("mutate.instance-admission.kudo.dev", "wh.example.org")
    installed.refusals["PATCH", "instances"] = (500, message)
    ran = kudo("suspend", "--instance", "tea")
    assert "check the pods of that webhook" in ran.err
    assert "The webhook of KUDO" not in ran.err
