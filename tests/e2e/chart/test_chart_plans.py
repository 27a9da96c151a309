"""What plans do to real pods, under the rights that the chart gives."""

from tests.e2e.chart.plans import apply
from tests.e2e.chart.release import Release
from tests.e2e.objects import container, job
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.world import World

_GRANT = "limits-for-kudo"


def reader(name: str, reads: str) -> Json:
    """Return a Deployment of one pod that mounts a ConfigMap."""
    main = container("sleep", "infinity")
    main["volumeMounts"] = [{"name": "settings", "mountPath": "/settings"}]
    labels = {"app": name}
    spec = {
        "terminationGracePeriodSeconds": 0,
        "containers": [main],
        "volumes": [{"name": "settings", "configMap": {"name": reads}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def started(inside: Kubectl) -> dict[str, str]:
    """Return the uid of the pod of each Deployment."""
    pods = inside.get("pods")["items"]
    alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return {pod["metadata"]["labels"]["app"]: pod["metadata"]["uid"] for pod in alive}


async def test_a_changed_config_map_restarts_the_pods_that_read_it_and_no_others(
    world: World, inside: Kubectl
) -> None:
    templates = {
        f"{name}.yaml": build.template(
            build.config_map(f"settings-{name}", value=f"{{{{ .Params.{name.upper()} }}}}"),
            reader(name, f"settings-{name}"),
        )
        for name in ("first", "second")
    }
    version = build.operator_version(
        "readers",
        templates=templates,
        parameters=[build.parameter("FIRST", "1"), build.parameter("SECOND", "1")],
        plans={"deploy": build.plan({"first": ["first"], "second": ["second"]})},
    )
    await apply(world, version, build.instance("i", "readers"))
    await world.until_complete("i")
    before = started(inside)

    await world.patch("i", {"parameters": {"FIRST": "2"}})
    await world.until_complete("i")

    after = started(inside)
    assert after["first"] != before["first"]
    assert after["second"] == before["second"]
    shown = inside("exec", "deployment/first", "--", "cat", "/settings/value")
    assert shown == "2"


async def test_a_job_that_fails_ends_the_plan_and_its_text_says_which(world: World) -> None:
    failing = job("failing", ["sh", "-c", "exit 3"])
    version = build.operator_version(
        "failing",
        templates={"job.yaml": build.template(failing)},
        plans={"deploy": build.plan({"j": ["job"]})},
    )
    await apply(world, version, build.instance("i", "failing"))

    failed = await world.until_failed("i")

    assert 'job "failing" has failed terminally' in instances.messages(failed, "deploy")


async def test_a_plan_that_lacks_a_right_says_which_and_goes_on_once_it_is_granted(
    world: World, release: Release
) -> None:
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "limits"},
        "spec": {"limits": []},
    }
    version = build.operator_version(
        "limits",
        templates={"l.yaml": build.template(limits)},
        plans={"deploy": build.plan({"l": ["l"]})},
    )
    await apply(world, version, build.instance("i", "limits"))
    said = "limitranges"

    await world.until("i", lambda i: said in instances.messages(i, "deploy"), "the missing right")
    release.kubectl.apply(granted())
    try:
        await world.until_complete("i")
    finally:
        release.kubectl("delete", "clusterrole", _GRANT)


def granted() -> Json:
    verbs = ["get", "list", "watch", "create", "update", "patch", "delete"]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": _GRANT,
            # The account of the plan is bound to admin.
            "labels": {"rbac.authorization.k8s.io/aggregate-to-admin": "true"},
        },
        "rules": [{"apiGroups": [""], "resources": ["limitranges"], "verbs": verbs}],
    }
