"""In compat mode plans do what the chart's roles allow, and nothing else."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import build, instances
from tests.support.cluster.site import CONFIGURATION_KINDS, KubectlError, Site
from tests.support.cluster.waiting import wait_until
from tools.chart.helm import CHART, NAMESPACE, Json

_RECONCILER = f"system:serviceaccount:{NAMESPACE}:kudo-reconciler"
_SHORT_LEASE = ("--lease-duration=3", "--lease-renew-deadline=2", "--lease-retry=0.5")


@pytest.fixture(scope="module")
def running(running_site: Site) -> Iterator[Site]:
    """Yield a release with both services at work."""
    site = running_site
    site.helm("install", "--wait", "--timeout=120s", tenancy__mode="compat")
    # The pods of the release run nothing, so they hold no Lease.
    reconciler = site.service("reconciler", *_SHORT_LEASE)
    with site.webhook():
        reconciler.start()
        yield site
        reconciler.kill()
    site.clean()


@pytest.fixture
def namespace(running: Site, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"rights-{abs(hash(request.node.name)) % 10**8}"
    running.kubectl("create", "namespace", name)
    yield name
    running.kubectl("delete", "namespace", name, "--wait=false")


def test_an_example_runs_to_its_end(running: Site, namespace: str) -> None:
    done = _kudo(
        running, namespace, "install", str(CHART.parents[1] / "examples" / "first-operator"),
        "--instance=hello", "--wait", "--wait-time=90",
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr


def test_an_instance_with_a_cleanup_plan_comes_and_goes(running: Site, namespace: str) -> None:
    package = str(CHART.parents[1] / "examples" / "lifecycle" / "v1")
    for command in (
        ("install", package, "--instance=life", "--wait", "--wait-time=90"),
        ("uninstall", "--instance=life", "--wait"),
    ):
        done = _kudo(running, namespace, *command)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": "allowed"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
            },
            id="a role within the reconciler's own rights",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "allowed"}},
            id="an account",
        ),
        pytest.param(
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "NetworkPolicy",
                "metadata": {"name": "allowed"},
                "spec": {"podSelector": {}},
            },
            id="a network policy",
        ),
    ],
)
async def test_a_plan_creates_what_the_role_holds(running: Site, namespace: str, obj: Json) -> None:
    _install(running, namespace, obj)

    await _until(
        running, namespace, lambda found: instances.status_of(found, "deploy") == "COMPLETE"
    )

    assert "allowed" in running.names(obj["kind"], f"--namespace={namespace}")


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        pytest.param(
            {
                "apiVersion": "v1",
                "kind": "LimitRange",
                "metadata": {"name": "forbidden"},
                "spec": {"limits": []},
            },
            'resource "limitranges"',
            id="a kind that is not in the role",
        ),
        pytest.param(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": "forbidden"},
                "rules": [],
            },
            'resource "clusterroles"',
            id="a cluster-scoped kind",
        ),
        pytest.param(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": "forbidden"},
                "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
            },
            "is attempting to grant RBAC permissions not currently held",
            id="a role beyond the reconciler's own rights",
        ),
        pytest.param(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "forbidden"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "cluster-admin",
                },
                "subjects": [{"kind": "ServiceAccount", "name": "default"}],
            },
            "is attempting to grant RBAC permissions not currently held",
            id="a binding to cluster-admin",
        ),
    ],
)
async def test_a_plan_cannot_create_what_the_role_does_not_hold(
    running: Site, namespace: str, obj: Json, says: str
) -> None:
    _install(running, namespace, obj)

    found = await _until(
        running, namespace, lambda found: says in instances.messages(found, "deploy")
    )

    assert instances.status_of(found, "deploy") != "COMPLETE"
    assert "forbidden" not in running.names(obj["kind"], f"--namespace={namespace}")


async def test_a_labelled_role_lets_the_waiting_plan_go_on(running: Site, namespace: str) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota"},
        "spec": {"hard": {"pods": "9"}},
    }
    _install(running, namespace, quota)
    refused = 'resource "resourcequotas"'
    waiting = await _until(running, namespace, lambda i: refused in instances.messages(i, "deploy"))
    assert "grant KUDO's reconciler permission to get resourcequotas" in instances.messages(
        waiting, "deploy"
    )

    running.apply(_labelled_role("resourcequotas"))
    await _until(
        running, namespace, lambda found: instances.status_of(found, "deploy") == "COMPLETE"
    )

    running.kubectl("delete", "clusterrole", "more-for-plans")


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("create", "clusterrolebindings"),
        ("create", "namespaces"),
        ("delete", "customresourcedefinitions"),
        ("escalate", "roles"),
        ("bind", "clusterroles"),
        ("impersonate", "serviceaccounts"),
        ("patch", "operatorversions.kudo.dev"),
        ("deletecollection", "inventories.kudo.dev"),
        ("patch", "mutatingwebhookconfigurations"),
        ("get", "nodes"),
        ("create", "serviceaccounts --subresource=token"),
        ("create", "persistentvolumes"),
    ],
)
def test_the_reconciler_has_no_right_that_it_does_not_need(
    running: Site, verb: str, resource: str
) -> None:
    with pytest.raises(KubectlError):
        running.kubectl(
            "auth", "can-i", verb, *resource.split(), f"--as={_RECONCILER}", "--namespace=default"
        )


def test_secrets_of_the_webhook_are_all_that_it_reads(running: Site) -> None:
    webhook = f"--as=system:serviceaccount:{NAMESPACE}:kudo-webhook"
    there = f"--namespace={NAMESPACE}"
    running.kubectl("auth", "can-i", "get", "secrets/kudo-webhook-certificate", webhook, there)
    for asked in ("secrets/other", "secrets"):
        with pytest.raises(KubectlError):
            running.kubectl("auth", "can-i", "get", asked, webhook, there)


async def test_bookkeeping_of_the_reconciler_passes_a_dead_webhook_and_users_changes_do_not(
    running: Site, namespace: str
) -> None:
    _install(running, namespace, _config_map("some"))
    await _until(
        running, namespace, lambda found: instances.status_of(found, "deploy") == "COMPLETE"
    )
    change = '--patch={"spec":{"planExecution":{"planName":"deploy","uid":"x"}}}'
    patch = ("patch", "instances.kudo.dev", "it", "--type=merge", change, "--dry-run=server")
    where = f"--namespace={namespace}"
    for kind in CONFIGURATION_KINDS:
        ops = [{"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": _NOBODY}]
        running.kubectl(
            "patch", kind, "kudo-instance-admission", "--type=json", f"--patch={json.dumps(ops)}"
        )

    async def refused() -> bool:
        try:
            running.kubectl(*patch, where)
        except KubectlError as error:
            return "failed calling webhook" in str(error)
        return False

    await wait_until(refused, lambda: "the API server to ask a webhook that is not there")
    running.kubectl(*patch, where, f"--as={_RECONCILER}")


_NOBODY = "https://127.0.0.1:1/nobody"


def _install(site: Site, namespace: str, obj: Json) -> None:
    version = build.operator_version(
        "op-0.1.0",
        templates={"object.yaml": build.template(obj)},
        plans={"deploy": build.plan({"apply": ["object"]})},
    )
    operator = {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Operator",
        "metadata": {"name": "op"},
        "spec": {},
    }
    for one in (operator, version, build.instance("it", "op-0.1.0")):
        site.kubectl("create", "--filename=-", f"--namespace={namespace}", text=json.dumps(one))


def _kudo(site: Site, namespace: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("kubectl-kudo")
    kubeconfig = f"--kubeconfig={site.cluster.kubeconfig('user')}"
    return subprocess.run(
        [str(program), kubeconfig, f"--namespace={namespace}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


async def _until(site: Site, namespace: str, condition: Any) -> Json:
    seen: Json = {}

    async def fulfilled() -> bool:
        nonlocal seen
        seen = site.get("instances.kudo.dev", "it", f"--namespace={namespace}")
        return bool(condition(seen))

    await wait_until(fulfilled, lambda: json.dumps(seen.get("status"), indent=1))
    return seen


def _labelled_role(resource: str) -> Json:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "more-for-plans",
            "labels": {"rbac.kudo.dev/aggregate-to-reconciler": "true"},
        },
        "rules": [
            {
                "apiGroups": [""],
                "resources": [resource],
                "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
            }
        ],
    }


def _config_map(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}
