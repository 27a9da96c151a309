"""`kubectl kudo test` as a program, on a cluster that it is given."""

import json
import re
import signal
import sys

import pytest

from tests.integration.harness.verb.conftest import OBJECT, Verb, interrupt, until
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.world import World
from tests.support.terminals.terminal import on_terminal

WRONG = OBJECT.replace("'1'", "'2'")
WAITS = """\
apiVersion: kuttl.dev/v1beta1
kind: TestStep
commands:
  - script: echo it waits; sleep 1000
"""


def namespaces(shown: str) -> list[str]:
    return re.findall(r"namespace (kudo-test-[a-z0-9-]+) created", shown)


async def test_cases_run_in_namespaces_of_their_own(verb: Verb) -> None:
    # BTO-64: there is no suite file.
    verb.case("one", a=OBJECT, **{"assert": OBJECT})
    verb.case("two", a=OBJECT, errors=WRONG)
    before = sorted(verb.folder.rglob("*"))

    done = await verb.test("e2e")

    assert (done.code, done.stderr) == (0, ""), done.output
    assert done.stdout.startswith("Running 2 cases of e2e\n")
    assert "All 2 cases passed in" in done.stdout
    made = namespaces(done.stdout)
    assert sorted(one.rpartition("-")[0] for one in made) == ["kudo-test-one", "kudo-test-two"]
    assert [await verb.is_deleted(one) for one in made] == [True, True]
    assert sorted(verb.folder.rglob("*")) == before
    assert verb.left() == []


async def test_a_case_that_fails_is_told_and_reported(verb: Verb) -> None:
    verb.case("good", a=OBJECT)
    verb.case("bad", a=OBJECT, **{"assert": WRONG})

    done = await verb.test("e2e", "--timeout=1", "--report=JSON", "--artifacts-dir=out")

    assert done.code == 1
    message = (
        "e2e/bad/00-assert.yaml:4: ConfigMap a: .data.x: value mismatch, expected: 2 != actual: 1"
    )
    assert message in done.stdout
    assert "1 of 2 cases passed in" in done.stdout
    assert done.stdout.endswith("Report: out/kuttl-report.json\n")
    assert done.stderr == "Error: 1 of 2 cases did not pass\n"
    report = json.loads((verb.folder / "out" / "kuttl-report.json").read_text())
    assert (report["tests"], report["failures"]) == (2, 1)
    assert verb.left() == []


async def test_an_unknown_kind_is_told_before_anything_runs(verb: Verb) -> None:
    verb.case("one", a=OBJECT, **{"assert": OBJECT.replace("ConfigMap", "ConfigMop")})
    done = await verb.test("e2e")
    assert done.code == 5
    assert "e2e/one/00-assert.yaml:2: " in done.stderr
    assert "did you mean ConfigMap?" in done.stderr
    assert namespaces(done.stdout) == []


async def test_all_cases_can_run_in_one_namespace(verb: Verb, world: World) -> None:
    # BTO-66: global flags before the verb.
    verb.case("one", a=OBJECT, **{"assert": OBJECT})
    async with verb.running("-n", world.namespace, "test", "e2e") as process:
        stdout, stderr = await process.communicate()
    assert process.returncode == 0, stdout + stderr
    # It was there before, so it stays.
    assert not await verb.is_deleted(world.namespace)
    assert "a" not in {
        one["metadata"]["name"]
        for one in (await verb.admin.list(CONFIG_MAPS, namespace=world.namespace)).items
    }


async def test_what_is_kept_is_deleted_by_clean(verb: Verb) -> None:
    verb.case("one", a=OBJECT)
    done = await verb.test("e2e", "--skip-delete")
    assert done.code == 0, done.output
    (namespace,) = namespaces(done.stdout)
    assert not await verb.is_deleted(namespace)
    (folder,) = verb.left()
    assert f"--clean {verb.temporary}/{folder}" in done.stdout

    done = await verb.test("--clean")

    assert done.code == 0, done.output
    assert await verb.is_deleted(namespace)
    assert verb.left() == []
    assert (await verb.test("--clean")).stdout == "nothing is left of any run\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_the_run_and_deletes_what_it_made(
    verb: Verb, number: signal.Signals
) -> None:
    verb.case("one", a=WAITS)
    async with verb.running("test", "e2e", "--report=xml", "--timeout=300") as process:
        shown = await until(process, "it waits")
        done = await interrupt(process, number)
    assert done.code == 130, done.stderr
    shown += done.stdout
    assert "The run was interrupted." in shown
    (namespace,) = namespaces(shown)
    assert await verb.is_deleted(namespace)
    assert (verb.folder / "kuttl-report.xml").exists()
    assert verb.left() == []


async def test_cases_run_again_when_their_files_change(verb: Verb) -> None:
    folder = verb.case("one", a=OBJECT, **{"assert": WRONG})
    verb.case("two", a=OBJECT)
    async with verb.running("test", "e2e", "--watch", "--timeout=1") as process:
        first = await until(process, "1 of 2 cases passed in")
        await until(process, "Watching the files of 2 cases", err=True)
        (folder / "00-assert.yaml").write_text(OBJECT)
        second = await until(process, "The case passed in")
        await until(process, "Watching the files of 2 cases", err=True)
        done = await interrupt(process, signal.SIGINT)
    assert done.code == 0
    assert len(namespaces(first)) == 2
    assert [one.rpartition("-")[0] for one in namespaces(second)] == ["kudo-test-one"]
    assert verb.left() == []


async def test_a_suite_that_is_not_valid_is_watched_until_it_is(verb: Verb, world: World) -> None:
    folder = verb.case("one", a=OBJECT)
    async with verb.running("test", "e2e", "--watch", "-n", world.namespace) as process:
        await until(process, "The case passed in")
        await until(process, "Watching the files", err=True)
        (folder / "00-a.yaml").write_text("a: [")
        await until(process, "not valid YAML", err=True)
        (folder / "00-a.yaml").write_text(OBJECT)
        await until(process, "The case passed in")
        await interrupt(process, signal.SIGTERM)
    assert verb.left() == []


def test_a_terminal_shows_progress_and_results(verb: Verb) -> None:
    verb.case("good", a=OBJECT)
    verb.case("bad", a=OBJECT, **{"assert": WRONG})
    argv = [sys.executable, "-m", "kubectl_kudo", "test", "e2e", "--timeout=2"]
    with on_terminal(argv, folder=verb.folder, environment=verb.environment) as terminal:
        shown = ""
        while text := terminal.read():
            shown += text
        assert terminal.end() == 1
    assert "passed e2e/good (" in shown
    assert re.search(r"bad  \d+s  0-a", shown)
    assert "FAILED e2e/bad, step 0-a (" in shown
    assert "logger.go" not in shown


async def test_without_a_cluster_the_error_says_what_to_do(verb: Verb) -> None:
    verb.case("one", a=OBJECT)
    del verb.environment["KUBECONFIG"]
    done = await verb.test("e2e")
    assert done.code == 255
    assert "no kubeconfig: " in done.stderr
    assert "Traceback" not in done.stderr
    assert verb.left() == []
