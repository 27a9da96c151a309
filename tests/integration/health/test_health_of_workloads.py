"""Health of workloads, Jobs and Pods as the API server and its controllers show them."""

from kubeio.client import Client
from tests.integration.health import objects
from tests.support import build, instances
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.world import World

AFTER = build.config_map("after", a="b")


async def images(admin: Client, world: World) -> dict[str, str]:
    """Return the image of each pod that is not on its way out."""
    pods = (await admin.list(objects.PODS, namespace=world.namespace)).items
    return {
        pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"]
        for pod in pods
        if "deletionTimestamp" not in pod["metadata"]
    }


async def test_a_daemon_set_holds_the_next_step_until_its_pods_are_available(world: World) -> None:
    await objects.install(world, objects.workload("DaemonSet", "agent", ready_delay="2s"), AFTER)

    text = 'daemonset "agent" is not healthy: Waiting for'
    waiting = await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the DaemonSet"
    )

    assert instances.steps(waiting, "deploy") == {
        "phase1.s1": "IN_PROGRESS",
        "phase1.s2": "PENDING",
    }
    await world.until_complete("i")
    status = (await world.get(objects.DAEMON_SETS, "agent"))["status"]
    assert status["numberAvailable"] == status["desiredNumberScheduled"] == 1
    assert await world.find(CONFIG_MAPS, "after") is not None


async def test_a_rolling_update_of_a_stateful_set_is_through_when_every_pod_is_new(
    world: World, admin: Client
) -> None:
    await objects.install(
        world, objects.workload("StatefulSet", "db", replicas=3, serviceName="db")
    )
    await world.until_complete("i")

    await world.patch("i", {"parameters": {"IMAGE": "busybox:2"}})
    await world.until_complete("i")

    new = "busybox:2"
    assert await images(admin, world) == {"db-0": new, "db-1": new, "db-2": new}


async def test_a_partitioned_update_is_through_when_the_pods_from_the_partition_on_are_new(
    world: World, admin: Client
) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    db = objects.workload(
        "StatefulSet", "db", replicas=3, serviceName="db", updateStrategy=strategy
    )
    await objects.install(world, db)
    await world.until_complete("i")

    await world.patch("i", {"parameters": {"IMAGE": "busybox:2"}})
    await world.until_complete("i")

    old, new = "busybox", "busybox:2"
    assert await images(admin, world) == {"db-0": old, "db-1": old, "db-2": new}
    status = (await world.get(objects.STATEFUL_SETS, "db"))["status"]
    assert status["updateRevision"] != status["currentRevision"]


async def test_an_update_with_on_delete_is_through_with_the_old_pods(
    world: World, admin: Client
) -> None:
    strategy = {"type": "OnDelete"}
    db = objects.workload(
        "StatefulSet", "db", replicas=2, serviceName="db", updateStrategy=strategy
    )
    await objects.install(world, db, AFTER)
    await world.until_complete("i")

    await world.patch("i", {"parameters": {"IMAGE": "busybox:2"}})
    await world.until_complete("i")

    assert await images(admin, world) == {"db-0": "busybox", "db-1": "busybox"}
    ready = await world.until("i", lambda i: i["status"]["conditions"][0]["status"] == "True", "")
    assert ready["status"]["conditions"][0]["reason"] == "ResourcesReady"


async def test_a_stateful_set_that_scales_down_holds_the_next_step_until_its_pods_are_gone(
    world: World, admin: Client
) -> None:
    size = "{{int .Params.SIZE int}}"
    await objects.install(
        world, objects.workload("StatefulSet", "db", replicas=size, serviceName="db"), SIZE="2"
    )
    await world.until_complete("i")
    hold = {"metadata": {"finalizers": ["example.org/hold"]}}
    await admin.merge_patch(objects.PODS, "db-1", hold, namespace=world.namespace)

    await world.patch("i", {"parameters": {"SIZE": "1"}})
    text = "Waiting for rollout to finish: 1 old replicas are pending termination..."
    await world.until("i", lambda i: text in instances.messages(i, "deploy"), "the last pod to go")
    free = {"metadata": {"finalizers": None}}
    await admin.merge_patch(objects.PODS, "db-1", free, namespace=world.namespace)

    await world.until_complete("i")
    assert set(await images(admin, world)) == {"db-0"}


async def test_a_job_is_done_with_its_last_completion(world: World) -> None:
    many = build.job("many")
    many["spec"] |= {"completions": 3, "parallelism": 2}
    many["spec"]["template"]["metadata"]["annotations"]["kwok.kudo.dev/run-for"] = "1s"
    await objects.install(world, many, AFTER)

    text = 'job "many" still running'
    await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the Job to be waited for"
    )

    await world.until_complete("i")
    found = await world.kubectl("get", "job", "many", "-o=jsonpath={.status.succeeded}")
    assert found.stdout == "3"


async def test_a_job_that_passes_its_deadline_ends_the_plan_in_its_own_words(world: World) -> None:
    late = build.job("late", image="never-pulls")
    late["spec"] |= {"activeDeadlineSeconds": 1, "backoffLimit": 6}
    await objects.install(world, late, AFTER)

    failed = await world.until_failed("i")

    text = 'job "late" has failed terminally: Job was active longer than specified deadline'
    assert text in instances.messages(failed, "deploy")
    assert await world.find(CONFIG_MAPS, "after") is None


async def test_a_stateful_set_names_its_broken_pod_and_goes_on_once_that_is_deleted(
    world: World, admin: Client
) -> None:
    db = objects.workload("StatefulSet", "db", replicas=2, serviceName="db")
    await objects.install(world, db, IMAGE="never-pulls")
    pod = f"pod {world.namespace}/db-0: container main: ImagePullBackOff: image"
    text = f'statefulset "db" is not healthy: Waiting for 2 pods to be ready...; {pod}'
    waits = await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the pod to be named"
    )
    command = f"kubectl delete pod db-0 -n {world.namespace}"
    advice = "a corrected StatefulSet replaces this pod only once it is deleted: "
    assert f"{advice}{command}" in instances.messages(waits, "deploy")

    cancel = {"planExecution": {"status": "FATAL_ERROR"}}
    await world.patch("i", cancel)
    await world.until_failed("i")
    await world.patch("i", {"parameters": {"IMAGE": "busybox"}})
    text = f"the pod is of an older revision and is not replaced by itself: {command}"
    await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the older revision to be named"
    )
    await admin.delete(objects.PODS, "db-0", namespace=world.namespace)

    await world.until_complete("i")
    assert await images(admin, world) == {"db-0": "busybox", "db-1": "busybox"}


async def test_a_deployment_names_a_broken_pod_of_its_replica_set(world: World) -> None:
    await objects.install(world, objects.workload("Deployment", "web"), IMAGE="never-pulls")

    text = f"updated replicas are available...; pod {world.namespace}/web-"
    waits = await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the pod to be named"
    )

    assert ": container main: ImagePullBackOff: image" in instances.messages(waits, "deploy")
    await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
    await world.until_failed("i")
    await world.patch("i", {"parameters": {"IMAGE": "busybox"}})
    await world.until_complete("i")


async def test_a_job_that_fails_names_its_pod_and_the_exit_code(world: World) -> None:
    await objects.install(world, build.job("bad", exit_code=3), AFTER)

    failed = await world.until_failed("i")

    text = 'job "bad" has failed terminally: Job has reached the specified backoff limit'
    assert f"{text}; pod {world.namespace}/bad-" in instances.messages(failed, "deploy")
    assert "container main: Error: exit code 3; see its log: " in instances.messages(
        failed, "deploy"
    )


async def test_a_failed_pod_ends_the_plan_and_says_why(world: World, admin: Client) -> None:
    containers = [{"name": "main", "image": "never-pulls"}]
    await objects.install(world, objects.made("v1", "Pod", "one", spec={"containers": containers}))
    text = f"pod {world.namespace}/one is not running yet: Pending (main: ImagePullBackOff: "
    await world.until(
        "i", lambda i: text in instances.messages(i, "deploy"), "the pod to be waited for"
    )

    evicted = {"phase": "Failed", "reason": "Evicted", "message": "no memory"}
    await objects.set_status(admin, objects.PODS, "one", world.namespace, **evicted)

    failed = await world.until_failed("i")
    text = f"pod {world.namespace}/one is not running yet: Failed (Evicted: no memory); free"
    assert text in instances.messages(failed, "deploy")


async def test_a_disruption_budget_is_waited_for_when_it_changed(
    world: World, admin: Client
) -> None:
    labels = {"matchLabels": {"app": "web"}}
    spec = {"selector": labels, "minAvailable": "{{int .Params.SIZE int}}"}
    web = objects.workload("Deployment", "web", replicas=2)
    await objects.install(
        world, [web, objects.made("policy/v1", "PodDisruptionBudget", "web", spec=spec)]
    )
    await world.until_complete("i")

    await world.patch("i", {"parameters": {"SIZE": "2"}})
    await world.until_complete("i")

    found = await admin.get(objects.BUDGETS, "web", namespace=world.namespace)
    assert found["spec"]["minAvailable"] == 2
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
