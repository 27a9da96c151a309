"""Who may write Inventories on a real API server, and the key for the digests of Secrets."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kudo_cluster.installation import Service
from tests.support.cluster.site import KubectlError, Site, wait_until
from tools.chart.helm import NAMESPACE, Json

_KIND = "inventories.kudo.dev"
_KEY = "kudo-digest-key"
_POLICY = "kudo-inventories"
_REFUSED = "kudo-inventories: only KUDO's reconciler writes Inventories"
_WHERE = "--namespace=default"
_ENTRY = {"kind": "ConfigMap", "name": "some", "namespace": "default", "version": "v1"}


@pytest.fixture(scope="module", params=["strict", "compat"])
def installed(running_site: Site, request: pytest.FixtureRequest) -> Iterator[Site]:
    """Yield a release in each mode, once its policy is in force."""
    site = running_site
    site.helm("install", tenancy__mode=request.param)
    established = ("--for=condition=Established", "--timeout=60s")
    site.kubectl("wait", *established, f"crd/{_KIND}")
    try:
        wait_until(lambda: _is_refused(site), "the policy to be in force")
        yield site
    finally:
        site.clean()


@pytest.fixture
def recorded(installed: Site) -> Iterator[Site]:
    """Yield a release with an Inventory that the reconciler has written, and its owner."""
    installed.kubectl("create", "configmap", "owner", _WHERE)
    uid = installed.get("configmap", "owner", _WHERE)["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    _as_reconciler(installed, _inventory(ownerReferences=[owner], labels={"a": "b"}))
    yield installed
    installed.kubectl("delete", "configmap/owner", f"{_KIND}/it", "--ignore-not-found", _WHERE)


def _inventory(name: str = "it", **metadata: Any) -> Json:
    placed = {"name": name, "namespace": "default", **metadata}
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Inventory",
        "metadata": placed,
        "objects": [_ENTRY],
    }


def _reconciler(site: Site) -> Path:
    return site.service_kubeconfig("reconciler")


def _as_reconciler(site: Site, inventory: Json) -> None:
    text = json.dumps(inventory)

    def created() -> bool:
        try:
            site.kubectl("create", "--filename=-", text=text, kubeconfig=_reconciler(site))
        except KubectlError as error:
            # The API server learns of new rights from its watch.
            if "cannot create resource" not in str(error):
                raise
            return False
        return True

    wait_until(created, "the reconciler to have its rights")


def _is_refused(site: Site) -> bool:
    text = json.dumps(_inventory("tried"))
    try:
        site.kubectl("create", "--dry-run=server", "--filename=-", text=text)
    except KubectlError as error:
        return _REFUSED in str(error)
    return False


def _patch(site: Site, patch: Json, *options: str) -> None:
    wanted = ("patch", _KIND, "it", _WHERE, "--type=merge", f"--patch={json.dumps(patch)}")
    site.kubectl(*wanted, *options)


def _live(site: Site) -> Json:
    return site.get(_KIND, "it", _WHERE)


def test_the_reconciler_writes_them(recorded: Site) -> None:
    ours = _reconciler(recorded)

    changed = {**_live(recorded), "complete": True, "objects": [_ENTRY, _ENTRY]}
    recorded.kubectl("replace", "--filename=-", text=json.dumps(changed), kubeconfig=ours)

    assert _live(recorded)["objects"] == [_ENTRY, _ENTRY]
    with pytest.raises(KubectlError, match="cannot delete resource"):
        recorded.kubectl("delete", _KIND, "it", _WHERE, kubeconfig=ours)


def test_administrators_are_told_what_to_do_instead(installed: Site) -> None:
    with pytest.raises(KubectlError, match="run kubectl kudo adopt --instance NAME"):
        installed.kubectl("create", "--filename=-", text=json.dumps(_inventory("other")))


@pytest.mark.parametrize(
    "patch",
    [
        {"objects": []},
        {"objects": [{**_ENTRY, "name": "other"}]},
        {"complete": True},
        {"metadata": {"labels": {"kudo.dev/instance": "other"}}},
        {
            "metadata": {
                "ownerReferences": [
                    {"apiVersion": "kudo.dev/v1beta1", "kind": "Instance", "name": "i", "uid": "u"}
                ]
            }
        },
    ],
    ids=["without an object", "another object", "complete", "another label", "another owner"],
)
def test_nobody_else_changes_what_they_say(recorded: Site, patch: Json) -> None:
    before = _live(recorded)

    with pytest.raises(KubectlError, match=_REFUSED):
        _patch(recorded, patch)

    assert _live(recorded) == before


def test_who_was_granted_the_right_is_refused_all_the_same(recorded: Site) -> None:
    """In compat a plan can pass on what the reconciler may do."""
    rights = ("--verb=*", f"--resource={_KIND}")
    recorded.kubectl("create", "clusterrole", "writes-inventories", *rights)
    bound = ("--clusterrole=writes-inventories", "--serviceaccount=default:default")
    recorded.kubectl("create", "clusterrolebinding", "writes-inventories", *bound)
    try:
        for account in ("default", "kudo-reconciler"):
            # An account of the same name in another namespace is another one.
            name = f"--as=system:serviceaccount:default:{account}"
            groups = ("--as-group=system:masters", "--as-group=system:authenticated")
            with pytest.raises(KubectlError, match=_REFUSED):
                _patch(recorded, {"objects": []}, name, *groups)
    finally:
        for kind in ("clusterrolebinding", "clusterrole"):
            recorded.kubectl("delete", kind, "writes-inventories")


def test_metadata_may_be_cleaned_up(recorded: Site) -> None:
    _patch(recorded, {"metadata": {"annotations": {"note": "a"}}})
    _patch(recorded, {"metadata": {"finalizers": ["example.com/held"]}})
    recorded.kubectl("delete", _KIND, "it", _WHERE, "--wait=false")

    _patch(recorded, {"metadata": {"finalizers": []}})

    wait_until(lambda: not recorded.names(_KIND, _WHERE), "the Inventory to go")


@pytest.mark.parametrize("order", ["background", "foreground"])
def test_an_inventory_goes_with_its_owner(recorded: Site, order: str) -> None:
    recorded.kubectl("delete", "configmap", "owner", _WHERE, f"--cascade={order}", "--timeout=60s")

    wait_until(lambda: not recorded.names(_KIND, _WHERE), "the garbage collector")


def test_an_owner_that_leaves_its_inventory_behind_can_go(recorded: Site) -> None:
    recorded.kubectl("delete", "configmap", "owner", _WHERE, "--cascade=orphan", "--timeout=60s")

    assert "ownerReferences" not in _live(recorded)["metadata"]


@pytest.mark.parametrize(
    ("role", "verb", "allowed"),
    [
        ("view", "list", True),
        ("edit", "get", True),
        ("edit", "delete", False),
        ("admin", "create", False),
        ("admin", "delete", False),
        ("admin", "deletecollection", False),
    ],
)
def test_users_may_read_them(installed: Site, role: str, verb: str, *, allowed: bool) -> None:
    user = f"user-of-{role}"
    bound = (f"--clusterrole={role}", f"--user={user}", _WHERE)
    installed.kubectl("create", "rolebinding", user, *bound)

    def may(asked: str) -> bool:
        try:
            installed.kubectl("auth", "can-i", asked, _KIND, f"--as={user}", _WHERE)
        except KubectlError:
            return False
        return True

    try:
        wait_until(lambda: may("watch"), "the role to be aggregated")
        assert may(verb) is allowed
    finally:
        installed.kubectl("delete", "rolebinding", user, _WHERE)


def test_the_webhook_has_no_rights_on_them(installed: Site) -> None:
    webhook = f"--as=system:serviceaccount:{NAMESPACE}:kudo-webhook"
    with pytest.raises(KubectlError):
        installed.kubectl("auth", "can-i", "list", _KIND, webhook)


# Upgrades


def test_a_release_without_the_kind_gets_it_and_the_policy(installed: Site) -> None:
    policy = f"validatingadmissionpolicy/{_POLICY}", f"validatingadmissionpolicybinding/{_POLICY}"
    installed.kubectl("delete", *policy)
    installed.delete_crds(_KIND)
    early = _started_early(installed)
    try:
        installed.helm("upgrade")

        established = ("--for=condition=Established", "--timeout=60s")
        installed.kubectl("wait", *established, f"crd/{_KIND}")
        wait_until(lambda: _is_refused(installed), "the policy to be in force")
        # It did not end meanwhile.
        early.wait_ready()
    finally:
        early.kill()


def _started_early(site: Site) -> Service:
    """Return a reconciler that was started while the kind is missing."""
    deployment = site.get("deployment", "kudo-reconciler", f"--namespace={NAMESPACE}")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    [mode] = [text for text in container["args"] if text.startswith("--tenancy=")]
    found = site.service("reconciler", mode)
    found.launch()
    wait_until(
        lambda: "the caches are not synced" in found.get("/readyz")[1], "the reconciler to start"
    )
    return found


def _key(site: Site) -> bytes:
    data: dict[str, str] = site.get("secret", _KEY, f"--namespace={NAMESPACE}")["data"]
    return base64.b64decode(data["key"])


def test_the_key_is_made_once(installed: Site) -> None:
    key = _key(installed)
    assert len(key) == 32

    installed.helm("upgrade", reconciler__workers=7)

    assert _key(installed) == key


def test_the_webhook_may_not_read_the_key(installed: Site) -> None:
    asked = ("auth", "can-i", "get", f"secrets/{_KEY}", f"--namespace={NAMESPACE}")
    with pytest.raises(KubectlError):
        installed.kubectl(*asked, f"--as=system:serviceaccount:{NAMESPACE}:kudo-webhook")


def test_a_secret_of_ones_own_is_used_in_place_of_it(installed: Site) -> None:
    installed.helm("upgrade", reconciler__digestKey__existingSecret="mine")
    try:
        assert _KEY not in installed.names("secrets", f"--namespace={NAMESPACE}")
    finally:
        installed.helm("upgrade", "--reset-values")

    assert len(_key(installed)) == 32
