"""What the webhook's account may write into its configurations: what the release says alone."""

import base64
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster.site import CONFIGURATION, KubectlError, Site, wait_until
from tools.chart.helm import Json

_VALIDATING = "validatingwebhookconfigurations"
_MUTATING = "mutatingwebhookconfigurations"
_REFUSED = "kudo-webhook-registration: the account of KUDO's webhook may"


@pytest.fixture(scope="module")
def registered(running_site: Site) -> Iterator[Site]:
    """Yield a release in strict mode whose webhook has registered itself, as its account."""
    site = running_site
    site.helm("install", "--wait", "--timeout=120s")
    # The webhooks of the release as they are: nobody can be called there.
    file = site.cluster.directory / "release-webhooks.json"
    file.write_text(json.dumps(site.webhooks()), encoding="utf-8")
    webhook = site.new_webhook(built_in=True, pinned=True)
    webhook.command.append(f"--register={file}")
    webhook.start()
    try:
        wait_until(site.registered, "the webhook to register")
        yield site
    finally:
        webhook.kill()
        site.clean()


@pytest.fixture(scope="module")
def stolen(registered: Site) -> Path:
    """Return a kubeconfig with a token of the webhook's account."""
    return registered.service_kubeconfig("webhook")


def _webhooks(site: Site, kind: str) -> list[Json]:
    found: list[Json] = site.get(kind, CONFIGURATION)["webhooks"]
    return found


def _write(site: Site, kubeconfig: Path, kind: str, webhooks: list[Any]) -> list[Json]:
    """Write them, and return what the API server stored: the webhook may soon write again."""
    patch = json.dumps({"webhooks": webhooks})
    wanted = ("patch", kind, CONFIGURATION, "--type=merge", f"--patch={patch}", "--output=json")
    stored: list[Json] = json.loads(site.kubectl(*wanted, kubeconfig=kubeconfig))["webhooks"]
    return stored


def test_it_has_registered_what_the_release_says(registered: Site) -> None:
    names = [webhook["name"] for webhook in _webhooks(registered, _VALIDATING)]

    assert names == [
        "validate.instance-admission.kudo.dev",
        "validate.operatorversion-admission.kudo.dev",
    ]
    assert all(webhook["clientConfig"]["caBundle"] for webhook in _webhooks(registered, _MUTATING))


def test_another_authority_may_be_written(registered: Site, stolen: Path) -> None:
    before = _webhooks(registered, _MUTATING)
    renewed = copy.deepcopy(before)
    # Joined as bytes: base64 with padding, which depends on the signature, cannot be continued.
    authority = base64.b64decode(before[0]["clientConfig"]["caBundle"])
    renewed[0]["clientConfig"]["caBundle"] = base64.b64encode(authority * 2).decode()

    assert _write(registered, stolen, _MUTATING, renewed) == renewed

    assert _write(registered, stolen, _MUTATING, before) == before


@pytest.mark.parametrize("kind", [_MUTATING, _VALIDATING])
@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(("rules", 0, "apiGroups"), ["*"], id="another group"),
        pytest.param(("rules", 0, "resources"), ["*"], id="another kind"),
        pytest.param(("rules", 0, "operations"), ["CREATE"], id="fewer operations"),
        pytest.param(("rules",), [], id="no rule"),
        pytest.param(("clientConfig", "service", "name"), "other", id="another service"),
        pytest.param(("clientConfig", "service", "namespace"), "default", id="another namespace"),
        pytest.param(("clientConfig", "service", "path"), "/other", id="another path"),
        pytest.param(("clientConfig",), {"url": "https://127.0.0.1:1/x"}, id="a URL"),
        pytest.param(("matchConditions",), [], id="no conditions"),
        pytest.param(
            ("matchConditions", 0, "expression"), "request.operation == ''", id="another condition"
        ),
        pytest.param(("failurePolicy",), "Ignore", id="another failure policy"),
        pytest.param(("name",), "other.kudo.dev", id="another name"),
    ],
)
def test_a_stolen_token_changes_nothing_else(
    registered: Site, stolen: Path, kind: str, path: tuple[Any, ...], value: Any
) -> None:
    webhooks = _webhooks(registered, kind)
    changed = copy.deepcopy(webhooks)
    place: Any = changed[0]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    with pytest.raises(KubectlError, match=_REFUSED):
        _write(registered, stolen, kind, changed)

    assert _webhooks(registered, kind) == webhooks


@pytest.mark.parametrize("kind", [_MUTATING, _VALIDATING])
def test_a_stolen_token_registers_no_other_webhook_and_removes_none(
    registered: Site, stolen: Path, kind: str
) -> None:
    webhooks = _webhooks(registered, kind)
    other = {**webhooks[0], "name": "other.kudo.dev"}

    for changed in ([*webhooks, other], [*webhooks, webhooks[0]], webhooks[1:]):
        with pytest.raises(KubectlError):
            _write(registered, stolen, kind, changed)

    assert _webhooks(registered, kind) == webhooks


def test_administrators_are_not_bound(registered: Site) -> None:
    webhooks = _webhooks(registered, _MUTATING)
    changed = [{**webhooks[0], "failurePolicy": "Ignore"}]

    for wanted in (changed, webhooks):
        _write(registered, registered.cluster.kubeconfig("admin"), _MUTATING, wanted)
