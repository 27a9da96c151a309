"""The fields of a TestAssert, collectors, and objects that a step names."""

from kubeio.resource import PODS
from tests.integration.harness.running.suites import Runs, as_yaml, checks, config_map, step

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"app": "p"}},
    "spec": {"containers": [{"name": "c", "image": "none"}]},
}
MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


async def test_commands_of_an_assert_are_repeated_until_they_succeed(runs: Runs) -> None:
    script = "echo x >> tries; test $(wc -l < tries) -ge 3"
    ran = await runs.run(
        {"tests/one/00-assert.yaml": checks(commands=[{"script": script}], timeout=60)}
    )
    ran.passed()
    assert runs.read("tests/one/tries").count("x") == 3
    assert ran.steps()[0].assertions == 1


async def test_commands_of_an_assert_that_never_succeed_fail_the_step(runs: Runs) -> None:
    script = "echo still broken; exit 1"
    ran = await runs.run(
        {"tests/one/00-assert.yaml": checks(commands=[{"script": script}], timeout=1)}
    )
    assert "00-assert.yaml:1" in ran.why()
    assert "ended with exit code 1" in ran.why()
    assert "still broken" in ran.why()


async def test_expressions_are_evaluated_over_objects(runs: Runs) -> None:
    refs = [{**MAP, "name": "a", "ref": "one"}, {**MAP, "name": "b", "ref": "two"}]
    ran = await runs.run(
        {
            "tests/one/00-a.yaml": config_map("a", size="3") + "---\n" + config_map("b", size="4"),
            "tests/one/00-assert.yaml": checks(
                resourceRefs=refs,
                assertAll=[
                    {"celExpr": "int(one.data.size) < int(two.data.size)"},
                    {"celExpr": "one.metadata.namespace == two.metadata.namespace"},
                ],
                assertAny=[
                    {"celExpr": "one.data.size == '5'"},
                    {"celExpr": "two.data.size == '4'"},
                ],
            ),
        }
    )
    ran.passed()
    assert ran.steps()[0].assertions == 4


async def test_an_expression_that_is_not_true_fails_the_step(runs: Runs) -> None:
    refs = [{**MAP, "name": "a", "ref": "one"}, {**MAP, "name": "none", "ref": "two"}]
    ran = await runs.run(
        {
            "tests/one/00-a.yaml": config_map("a", size="3"),
            "tests/one/00-assert.yaml": checks(
                timeout=1,
                resourceRefs=refs,
                assertAll=[{"celExpr": "one.data.size == '4'"}, {"celExpr": "has(two.data)"}],
            ),
        }
    )
    assert "one.data.size == '4'" in ran.why()
    assert "has(two.data)" in ran.why()


async def test_an_expression_waits_for_an_object_that_comes_later(runs: Runs) -> None:
    create = "(sleep 1; kubectl create configmap late --namespace $NAMESPACE) >/dev/null 2>&1 &"
    ran = await runs.run(
        {
            "tests/one/00-late.yaml": step(commands=[{"script": create}]),
            "tests/one/00-assert.yaml": checks(
                timeout=60,
                resourceRefs=[{**MAP, "name": "late", "ref": "late"}],
                assertAll=[{"celExpr": "late.metadata.name == 'late'"}],
            ),
        }
    )
    ran.passed()


async def test_collectors_run_after_a_failed_assert_only(runs: Runs) -> None:
    collectors = [
        {"type": "command", "command": "kubectl get configmaps --namespace $NAMESPACE -o name"},
        {"type": "events", "pod": "p"},
        {"type": "pod", "pod": "no-such-pod", "container": "c", "tail": 5},
        {"selector": "app=p"},
    ]
    ran = await runs.run(
        {
            "tests/one/00-a.yaml": config_map("a"),
            "tests/one/00-assert.yaml": checks(collectors=collectors) + "---\n" + config_map("a"),
            "tests/one/01-assert.yaml": checks(collectors=collectors, timeout=1)
            + "---\n"
            + config_map("never"),
        }
    )
    assert ran.log.count("| configmap/a\n") == 1
    namespace = ran.namespaces["one"]
    for command in (
        f"kubectl get events --field-selector involvedObject.name=p -n {namespace}",
        f"kubectl logs --prefix no-such-pod -n {namespace} -c c --tail=5",
        f"kubectl logs --prefix -l app=p -n {namespace} --all-containers --tail=10",
    ):
        assert command in ran.log
    assert ran.log.count("running command") == 4
    # What fails there is only logged.
    assert "never" in ran.why()


async def test_files_and_folders_of_a_step_are_applied_and_checked(runs: Runs) -> None:
    ran = await runs.run(
        {
            "tests/one/00-files.yaml": step(
                apply=["../../shared/a.yaml", "more"],
                **{"assert": ["../../shared/a.yaml", "more/b.yaml"]},
                error=["../../shared/never.yaml"],
            ),
            "tests/one/more/b.yaml": config_map("b"),
            "shared/a.yaml": config_map("a", color="red"),
            "shared/never.yaml": config_map("a", color="blue"),
        }
    )
    ran.passed()
    assert ran.steps()[0].assertions == 3


async def test_an_assert_of_a_kind_that_is_not_served_yet_waits_for_it(runs: Runs) -> None:
    unknown = {"apiVersion": "no.example.com/v1", "kind": "Nothing", "metadata": {"name": "n"}}
    ran = await runs.run(
        {
            "tests/one/00-assert.yaml": checks(timeout=1) + "---\n" + as_yaml(unknown),
            "tests/one/00-errors.yaml": as_yaml(unknown),
        }
    )
    assert "00-assert.yaml" in ran.why()
    assert "00-errors.yaml" not in ran.why()


async def test_a_refused_object_fails_the_step_with_its_line(runs: Runs) -> None:
    bad = {**POD, "spec": {"containers": []}}
    ran = await runs.run(
        {
            "tests/one/00-pod.yaml": config_map("a")
            + "---\n"
            + as_yaml(bad)
            + "---\n"
            + config_map("b")
        }
    )
    assert "00-pod.yaml:6: Pod p: " in ran.why()
    assert "spec.containers: Required value" in ran.why()
    # As with kuttl, the others are applied all the same.
    assert "b created" in ran.log


async def test_pods_get_the_service_account_of_the_namespace(runs: Runs) -> None:
    ran = await runs.run(
        {
            "tests/one/00-pod.yaml": as_yaml(POD),
            "tests/one/00-assert.yaml": checks(timeout=90)
            + "---\n"
            + as_yaml(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"labels": {"app": "p"}},
                    "spec": {"serviceAccountName": "default"},
                    "status": {"phase": "Running"},
                }
            ),
        }
    )
    ran.passed()
    assert not await runs.names(PODS, ran.namespaces["one"]) or await runs.is_deleted(
        ran.namespaces["one"]
    )


async def test_items_of_a_list_are_applied_one_by_one(runs: Runs) -> None:
    items = [{**MAP, "metadata": {"name": name}} for name in ("a", "b")]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    ran = await runs.run(
        {
            "tests/one/00-list.yaml": as_yaml({**listed, "metadata": {"name": "l"}}),
            "tests/one/00-assert.yaml": config_map("a") + "---\n" + config_map("b"),
        }
    )
    ran.passed()


async def test_generated_names_are_created_and_deleted(runs: Runs) -> None:
    generated = {**MAP, "metadata": {"generateName": "g-", "labels": {"app": "g"}}}
    wanted = {**MAP, "metadata": {"labels": {"app": "g"}}}
    ran = await runs.run(
        {
            "tests/one/00-one.yaml": as_yaml(generated),
            "tests/one/00-assert.yaml": as_yaml(wanted),
        }
    )
    ran.passed()
