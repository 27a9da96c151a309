"""The fields of a TestSuite: CRDs, manifests, commands, namespaces, time, log."""

import json
import uuid

from kubeio.resource import CONFIG_MAPS, CRDS, NAMESPACES
from kubeio.types import JsonObject
from tests.integration.harness.running.suites import Runs, as_yaml, checks, config_map, step


def _crd(group: str) -> JsonObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"boxes.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "boxes", "singular": "box", "kind": "Box"},
            "versions": [version],
        },
    }


def _box(group: str, size: int) -> str:
    return as_yaml(
        {
            "apiVersion": f"{group}/v1",
            "kind": "Box",
            "metadata": {"name": "b"},
            "spec": {"size": size},
        }
    )


def _group() -> str:
    return f"g{uuid.uuid4().hex[:8]}.example.com"


async def test_crds_are_served_before_manifests_and_cases_use_them(runs: Runs) -> None:
    group = _group()
    ran = await runs.run(
        {
            "crds/box.yaml": as_yaml(_crd(group)) + "---\n" + config_map("no-crd"),
            "manifests/below/deeper/box.json": _box(group, 1),
            "manifests/map.yml": config_map(f"of-{group}"),
            "manifests/notes.txt": "not: [yaml",
            "tests/one/00-box.yaml": _box(group, 2),
            "tests/one/00-assert.yaml": _box(group, 2),
        },
        suite=f"crdDir: {runs.folder}/crds\nmanifestDirs: [{runs.folder}/manifests]",
    )
    ran.passed()
    # What is applied first stays, as with kuttl, and is in the namespace default.
    assert await runs.exists(CRDS, f"boxes.{group}")
    assert await runs.exists(CONFIG_MAPS, f"of-{group}", "default")
    assert not await runs.exists(CONFIG_MAPS, "no-crd", "default")
    await runs.client.delete(CONFIG_MAPS, f"of-{group}", namespace="default")
    await runs.client.delete(CRDS, f"boxes.{group}")


async def test_a_crd_of_a_step_is_served_before_the_next_object(runs: Runs) -> None:
    group = _group()
    ran = await runs.run(
        {
            "tests/one/00-box.yaml": as_yaml(_crd(group)) + "---\n" + _box(group, 3),
            "tests/one/00-assert.yaml": _box(group, 3),
        }
    )
    ran.passed()
    # It was created by the case, so it is deleted with it.
    assert not await runs.exists(CRDS, f"boxes.{group}")


async def test_commands_of_a_suite_run_in_order_in_the_namespace_default(runs: Runs) -> None:
    ran = await runs.run(
        {
            "tests/one/00-check.yaml": step(commands=[{"script": "cat ../../written"}]),
        },
        suite="""
        commands:
        - script: pwd > written
        - command: touch "a file"
        - script: exit 3
          ignoreFailure: true
        - script: echo not shown
          skipLogOutput: true
        - command: kubectl get serviceaccounts
          namespaced: true
        - script: echo "$NAMESPACE" >> written; test -f 'a file'
        """,
    )
    ran.passed()
    assert runs.read("written") == f"{runs.folder}\ndefault\n"
    assert f"| {runs.folder}\n" in ran.log
    assert "| not shown" not in ran.log


async def test_a_failed_command_of_a_suite_keeps_the_cases_from_running(runs: Runs) -> None:
    ran = await runs.run(
        {"tests/one/00-a.yaml": config_map("a")},
        suite="commands: [{script: echo why; exit 1}]",
    )
    assert not ran.result.passed
    assert ran.result.failure is not None
    assert "kudo-test.yaml:3" in ran.result.failure.message
    assert ran.result.failure.details == "why"
    assert ran.case().skipped == "the suite could not be prepared"


async def test_a_command_of_a_suite_is_stopped_when_its_time_is_over(runs: Runs) -> None:
    ran = await runs.run(
        {"tests/one/00-a.yaml": config_map("a")},
        suite="commands: [{command: sleep 600, timeout: 1}]",
    )
    assert ran.result.failure is not None
    assert "did not end within 1 s and was stopped" in ran.result.failure.message


async def test_commands_in_the_background_run_until_the_cases_have_ended(runs: Runs) -> None:
    script = "echo $$ > ready; trap 'echo ended > ended; exit' TERM; while true; do sleep 0.1; done"
    wait = "until test -s ../../ready; do sleep 0.1; done; kill -0 $(cat ../../ready)"
    ran = await runs.run(
        {"tests/one/00-wait.yaml": step(commands=[{"script": wait}])},
        suite=f"commands: [{json.dumps({'script': script, 'background': True})}]",
    )
    ran.passed()
    assert runs.read("ended") == "ended\n"


async def test_the_end_of_a_command_in_the_background_is_logged(runs: Runs) -> None:
    wait = "until test -e ../../gone; do sleep 0.1; done; sleep 0.5"
    ran = await runs.run(
        {"tests/one/00-wait.yaml": step(commands=[{"script": wait}])},
        suite="commands: [{script: touch gone; exit 7, background: true}]",
    )
    ran.passed()
    assert 'the command "touch gone; exit 7" ended with exit code 7' in ran.log


async def test_programs_are_found_in_the_folder_bin(runs: Runs) -> None:
    runs.write({"bin/greet": "#!/bin/sh\necho hello from bin\n"})
    (runs.folder / "bin/greet").chmod(0o755)
    ran = await runs.run({"tests/one/00-run.yaml": step(commands=[{"command": "greet"}])})
    ran.passed()
    assert "| hello from bin\n" in ran.log


async def test_cases_share_a_namespace_that_is_created_and_deleted_once(runs: Runs) -> None:
    name = f"shared-{uuid.uuid4().hex[:8]}"
    ran = await runs.run(
        {
            "tests/one/00-a.yaml": config_map("a"),
            "tests/one/00-assert.yaml": config_map("b"),
            "tests/two/00-b.yaml": config_map("b"),
            "tests/two/00-assert.yaml": config_map("a"),
            # None deletes its object while the other one still looks for it.
            "tests/one/01-end.yaml": step(commands=[{"script": _MEET.format("one", "two")}]),
            "tests/two/01-end.yaml": step(commands=[{"script": _MEET.format("two", "one")}]),
        },
        suite=f"namespace: {name}\nparallel: 2",
    )
    ran.passed()
    assert ran.log.count(f"namespace {name} created") == 1
    assert await runs.is_deleted(name)


_MEET = "touch ../../{0}; until test -e ../../{1}; do sleep 0.1; done"


async def test_a_namespace_that_was_there_stays_but_objects_of_the_case_do_not(
    runs: Runs,
) -> None:
    name = f"there-{uuid.uuid4().hex[:8]}"
    await runs.client.create(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    ran = await runs.run(
        {"tests/one/00-a.yaml": config_map("a"), "tests/one/00-assert.yaml": config_map("a")},
        suite=f"namespace: {name}",
    )
    ran.passed()
    assert not await runs.is_deleted(name)
    assert not await runs.exists(CONFIG_MAPS, "a", name)
    await runs.client.delete(NAMESPACES, name)


async def test_skip_delete_keeps_everything_and_tells_where(runs: Runs) -> None:
    ran = await runs.run({"tests/one/00-a.yaml": config_map("a")}, suite="skipDelete: true")
    ran.passed()
    name = ran.namespaces["one"]
    assert await runs.exists(CONFIG_MAPS, "a", name)
    assert f"namespace {name}\n" in ran.log
    assert f"--clean {runs.folder}/state deletes it" in ran.log
    await runs.client.delete(NAMESPACES, name)


async def test_so_many_cases_run_at_a_time_as_the_suite_says(runs: Runs) -> None:
    script = "mkdir ../../running && sleep 0.2 && rmdir ../../running"
    one_at_a_time = step(commands=[{"script": script}])
    ran = await runs.run(
        {f"tests/case-{number}/00-run.yaml": one_at_a_time for number in range(3)},
        suite="parallel: 1",
    )
    ran.passed()
    assert len(list(ran.result.cases)) == 3


async def test_the_time_of_the_suite_holds_for_steps_that_give_none(runs: Runs) -> None:
    ran = await runs.run(
        {"tests/one/00-assert.yaml": config_map("never")},
        suite="timeout: 1",
    )
    assert not ran.case().passed
    # Without it, the step would have taken 30 s.
    assert ran.steps()[0].seconds < 20


async def test_events_of_a_failed_case_are_logged_unless_they_are_suppressed(runs: Runs) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "ConfigMap", "name": "a", "namespace": "{{ .Namespace }}"},
        "type": "Warning",
        "reason": "Broken",
        "message": "it is broken",
    }
    files = {
        "tests/one/00-event.gotmpl.yaml": as_yaml(event),
        "tests/one/00-assert.yaml": checks(timeout=1) + "---\n" + config_map("never"),
    }
    shown = await runs.run(files)
    assert "Warning\tConfigMap a\tBroken\tit is broken" in shown.log
    silent = await runs.run(files, suite="suppress: [events]")
    assert "it is broken" not in silent.log


async def test_lists_are_compared_by_name_where_the_suite_says_so(runs: Runs) -> None:
    def service(*names: str) -> str:
        ports = [{"name": name, "port": 80 + n} for n, name in enumerate(names)]
        metadata = {"name": "s"}
        return as_yaml(
            {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}
        )

    wanted = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"ports": [{"name": "b", "port": 81}]},
    }
    files = {
        "tests/one/00-install.yaml": service("a", "b"),
        "tests/one/00-assert.yaml": as_yaml(wanted),
    }
    (await runs.run(files, suite="listMatching: name")).passed()
    ran = await runs.run(files, suite="timeout: 1")
    assert "slice length mismatch: 1 != 2" in ran.why()


async def test_secrets_of_the_suite_are_left_out_of_the_log(runs: Runs) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"key": "open-sesame-42"},
    }
    script = "echo key is open-sesame-42; exit 1"
    ran = await runs.run(
        {
            "tests/one/00-secret.yaml": as_yaml(secret),
            "tests/one/01-print.yaml": step(commands=[{"script": script}]),
        }
    )
    assert "key is (redacted)" in ran.log
    assert "open-sesame-42" not in ran.log
    assert "open-sesame-42" not in ran.why()


async def test_names_of_the_suite_stay_readable_although_a_secret_is_the_same(runs: Runs) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"user": "my-database", "key": "open-sesame-42"},
    }
    ran = await runs.run(
        {
            "tests/one/00-secret.yaml": as_yaml(secret) + "---\n" + config_map("my-database"),
            "tests/one/00-assert.yaml": config_map("my-database"),
        }
    )
    ran.passed()
    assert "/my-database created" in ran.log


async def test_files_of_other_runs_are_left_out(runs: Runs) -> None:
    def only(label: str) -> str:
        selector = {"testRunSelector": {"matchLabels": {"kind-of-run": label}}}
        return as_yaml({"apiVersion": "kuttl.dev/v1beta1", "kind": "TestFile", **selector})

    ran = await runs.run(
        {
            "tests/one/00-short.yaml": only("short") + "---\n" + config_map("short"),
            "tests/one/00-long.yaml": only("long") + "---\n" + config_map("long"),
            "tests/one/00-assert.yaml": config_map("short"),
            "tests/one/00-errors.yaml": config_map("long"),
        },
        labels={"kind-of-run": "short"},
    )
    ran.passed()


async def test_a_failed_case_does_not_stop_the_others(runs: Runs) -> None:
    ran = await runs.run(
        {
            "tests/bad/00-assert.yaml": checks(timeout=1) + "---\n" + config_map("never"),
            "tests/good/00-a.yaml": config_map("a"),
            "tests/good/00-assert.yaml": config_map("a"),
        }
    )
    assert [case.passed for _, case in ran.result.cases] == [False, True]


async def test_a_command_in_the_background_that_cannot_be_started_fails_the_suite(
    runs: Runs,
) -> None:
    ran = await runs.run(
        {"tests/one/00-a.yaml": config_map("a")},
        suite="commands: [{command: no-such-program, background: true}]",
    )
    assert ran.result.failure is not None
    assert "kudo-test.yaml:3" in ran.result.failure.message
    assert "cannot be started: No such file or directory" in ran.result.failure.message


async def test_output_that_is_left_out_of_the_log_is_left_out_of_failures(runs: Runs) -> None:
    command = {"script": "echo from inside; exit 1", "skipLogOutput": True}
    ran = await runs.run({"tests/one/00-a.yaml": step(commands=[command])})
    assert "ended with exit code 1" in ran.why()
    assert "\nfrom inside" not in ran.why()
    assert "| from inside" not in ran.log


async def test_objects_of_manifests_without_a_mapping_as_metadata_are_refused(runs: Runs) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "metadata": 3}]}
    ran = await runs.run(
        {"manifests/a.yaml": as_yaml(listed), "tests/one/00-a.yaml": config_map("a")},
        suite=f"manifestDirs: [{runs.folder}/manifests]",
    )
    assert ran.result.failure is not None
    assert "manifests/a.yaml:1" in ran.result.failure.message
