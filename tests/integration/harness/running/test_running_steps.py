"""Steps: delete, commands, apply, asserts, errors."""

from kubeio.resource import CONFIG_MAPS, NAMESPACES
from tests.integration.harness.running.suites import Runs, as_yaml, checks, config_map, step


async def test_a_case_runs_in_a_namespace_of_its_own_that_is_deleted(runs: Runs) -> None:
    ran = await runs.run(
        {
            "tests/one/00-install.yaml": config_map("a", color="red"),
            "tests/one/00-assert.yaml": config_map("a", color="red"),
            "tests/one/00-errors.yaml": config_map("a", color="blue"),
            "tests/one/01-change.yaml": config_map("a", color="blue", shape="round"),
            "tests/one/01-assert.yaml": config_map("a", color="blue"),
        },
        wait=True,
    )
    ran.passed()
    assert [(one.title, one.assertions) for one in ran.steps()] == [
        ("0-install", 2),
        ("1-change", 1),
    ]
    assert all(one.seconds > 0 for one in ran.steps())
    assert not await runs.exists(NAMESPACES, ran.namespaces["one"])
    assert "ConfigMap run-" in ran.log
    assert "a created" in ran.log
    assert "a configured" in ran.log


async def test_an_assert_that_never_matches_fails_the_step_and_skips_the_rest(runs: Runs) -> None:
    ran = await runs.run(
        {
            "tests/one/00-install.yaml": config_map("a", color="red"),
            "tests/one/00-assert.yaml": checks(timeout=2) + "---\n" + config_map("a", color="b"),
            "tests/one/01-more.yaml": config_map("b"),
        }
    )
    assert not ran.result.passed
    assert "00-assert.yaml:8" in ran.why()
    assert "value mismatch, expected: b != actual: red" in ran.why()
    assert ran.steps()[1].skipped == "an earlier step failed"
    assert await runs.is_deleted(ran.namespaces["one"])


async def test_an_object_that_must_not_match_fails_the_step(runs: Runs) -> None:
    ran = await runs.run(
        {
            "tests/one/00-install.yaml": config_map("a", color="red"),
            "tests/one/00-assert.yaml": checks(timeout=1),
            "tests/one/00-errors.yaml": config_map("a", color="red"),
        }
    )
    assert "00-errors.yaml:6: ConfigMap a matches, and must not" in ran.why()


async def test_an_unnamed_assert_is_matched_by_labels(runs: Runs) -> None:
    labelled = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"app": "one"}},
        "data": {"color": "red"},
    }
    wanted = {**labelled, "metadata": {"labels": {"app": "one"}}}
    other = {**labelled, "metadata": {"labels": {"app": "two"}}}
    ran = await runs.run(
        {
            "tests/one/00-install.yaml": as_yaml(labelled) + "---\n" + config_map("b"),
            "tests/one/00-assert.yaml": as_yaml(wanted),
            "tests/one/00-errors.yaml": as_yaml(other),
        }
    )
    ran.passed()


async def test_objects_are_deleted_by_name_by_labels_and_all_of_a_kind(runs: Runs) -> None:
    def labelled(name: str, app: str) -> str:
        metadata = {"name": name, "labels": {"app": app}}
        return as_yaml({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}) + "---\n"

    one = {"apiVersion": "v1", "kind": "ConfigMap"}
    ran = await runs.run(
        {
            "tests/one/00-install.yaml": labelled("a", "x")
            + labelled("b", "y")
            + labelled("c", "z"),
            "tests/one/01-name.yaml": step(delete=[{**one, "name": "a"}]),
            "tests/one/01-errors.yaml": config_map("a"),
            "tests/one/01-assert.yaml": config_map("b") + "---\n" + config_map("c"),
            "tests/one/02-labels.yaml": step(delete=[{**one, "labels": {"app": "y"}}]),
            "tests/one/02-errors.yaml": config_map("b"),
            "tests/one/02-assert.yaml": config_map("c"),
            "tests/one/03-all.yaml": step(delete=[one, {**one, "name": "never"}]),
            "tests/one/03-errors.yaml": config_map("c"),
        }
    )
    ran.passed()


async def test_all_of_a_cluster_scoped_kind_are_never_deleted(runs: Runs) -> None:
    ran = await runs.run(
        {"tests/one/00-all.yaml": step(delete=[{"apiVersion": "v1", "kind": "Namespace"}])}
    )
    assert "would delete every Namespace of the cluster" in ran.why()
    assert await runs.exists(NAMESPACES, "default")


async def test_commands_run_in_the_folder_and_namespace_of_the_case(runs: Runs) -> None:
    script = 'pwd; echo "in $NAMESPACE"; kubectl create configmap made --namespace $NAMESPACE'
    ran = await runs.run(
        {
            "tests/one/00-run.yaml": step(
                commands=[
                    {"script": script},
                    {"command": "kubectl create configmap by-word", "namespaced": True},
                ]
            ),
            "tests/one/00-assert.yaml": config_map("made") + "---\n" + config_map("by-word"),
        }
    )
    ran.passed()
    assert f"{runs.folder}/tests/one" in ran.log
    assert f"in {ran.namespaces['one']}" in ran.log


async def test_a_failed_command_ends_the_commands_but_objects_are_applied(runs: Runs) -> None:
    ran = await runs.run(
        {
            "tests/one/00-run.yaml": step(
                commands=[{"script": "echo broken >&2; exit 3"}, {"script": "echo never"}]
            )
            + "---\n"
            + config_map("a"),
            "tests/one/00-assert.yaml": config_map("a"),
        }
    )
    assert "00-run.yaml:1" in ran.why()
    assert "ended with exit code 3" in ran.why()
    assert "broken" in ran.why()
    assert "a created" in ran.log
    assert "never" not in ran.log.replace('"echo never"', "")
    assert ran.steps()[0].assertions == 0


async def test_created_objects_outside_the_namespace_are_deleted_and_patched_ones_stay(
    runs: Runs,
) -> None:
    def class_of(name: str, label: str) -> str:
        return as_yaml(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name, "labels": {"by": label}},
                "value": 1,
            }
        )

    await runs.client.create(
        CONFIG_MAPS,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "was-there"}},
        namespace="default",
    )
    ran = await runs.run(
        {
            "tests/one/00-install.yaml": class_of("of-the-case", "test")
            + "---\n"
            + config_map("was-there", "default", touched="yes"),
            "tests/one/00-assert.yaml": class_of("of-the-case", "test"),
        }
    )
    ran.passed()
    stays = await runs.client.get(CONFIG_MAPS, "was-there", namespace="default")
    assert stays["data"] == {"touched": "yes"}
    found = await runs.client.raw("GET", "/apis/scheduling.k8s.io/v1/priorityclasses")
    assert "of-the-case" not in {one["metadata"]["name"] for one in found["items"]}
    await runs.client.delete(CONFIG_MAPS, "was-there", namespace="default")


async def test_asserts_are_checked_once_the_faults_of_the_step_are_over(runs: Runs) -> None:
    labels = {"app": "web"}
    container = {"name": "c", "image": "none"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }
    up = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "status": {"readyReplicas": 1},
    }
    faults = [{"deletePods": {"labels": labels}, "when": up}]
    ran = await runs.run(
        {
            "tests/one/00-web.yaml": step(faults=faults) + "---\n" + as_yaml(web),
            "tests/one/00-assert.yaml": checks(timeout=90) + "---\n" + as_yaml(up),
        }
    )
    ran.passed()
    assert "fault: 1 pod with app=web deleted" in ran.log


async def test_a_fault_that_cannot_be_caused_fails_the_step(runs: Runs) -> None:
    faults = [{"deletePods": {"labels": {"app": "none"}}}]
    ran = await runs.run(
        {
            "tests/one/00-none.yaml": step(faults=faults) + "---\n" + config_map("a"),
            "tests/one/00-assert.yaml": checks(timeout=1) + "---\n" + config_map("a"),
        }
    )
    assert "00-none.yaml:1" in ran.why()
    assert "no pod has the labels app=none" in ran.why()
