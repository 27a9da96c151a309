"""Job tasks where containers run: exit codes, messages, outputs, what is restricted, logs."""

import sys
from pathlib import Path
from typing import Any

from kubectl_kudo.session.errors import ExitCode
from tests.support.cluster.commands import Done, run
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.resources import CONFIG_MAPS
from tests.support.cluster.world import World
from tests.support.instances import entry, messages, reason_of

Json = dict[str, Any]
WAIT = ("--wait", "--wait-time", "120s")
OPERATOR = """\
name: shop
operatorVersion: 0.1.0
kudoVersion: 0.20.0
kubernetesVersion: 1.30.0
plans:
  deploy:
    steps:
      - name: count
        job: {{script: scripts/count.sh, args: [two words], podTemplate: pod.yaml{outputs}}}
{steps}"""
NOTE = """\
      - name: note
        when: int(outputs.count.rows) > 1
        apply: [note.yaml]
      - name: tell
        job:
          script: scripts/tell.sh
          podTemplate: pod.yaml
          env: [{name: ROWS, value: "{{ .Outputs.count.rows }}"}]
          outputs: [told]
"""
POD = """\
metadata: {{labels: {{made: by-template}}}}
spec:
  {user}
  containers:
    - {{name: main, image: busybox, imagePullPolicy: IfNotPresent}}
"""
USER = "securityContext: {runAsUser: 65534, runAsGroup: 65534}"
TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: note}
data: {rows: "{{ .Outputs.count.rows }}", of: "{{ index .Outputs.count "of" }}"}
"""
COUNTS = """\
set -eu
echo "for {{ .Name }}: $1"
touch /tmp/scratch
rows=$(printf 'a\\nb\\n' | wc -l)
printf '{"rows": "%s", "of": "%s"}' "$rows" "$1" > /dev/termination-log
"""
TELLS = """\
printf '{"told": "%s of {{ .Outputs.count.of }}"}' "$ROWS" > /dev/termination-log
"""
FAILS = """\
for line in $(seq 30); do echo "attempt $line"; done
printf '\\033[31mno connection\\033[0m\\n'
echo 'the database is not there' > /dev/termination-log
exit 3
"""
WRITES = "touch /etc/mine 2> /dev/termination-log\n"


def shop(folder: Path, script: str, *, steps: str = "", outputs: str = "", user: str = USER) -> str:
    """Write a package whose first step runs a script."""
    files = {
        "operator.yaml": OPERATOR.format(steps=steps, outputs=outputs),
        "params.yaml": "parameters: []\n",
        "templates/pod.yaml": POD.format(user=user),
        "templates/note.yaml": TEMPLATE,
        "scripts/count.sh": script,
        "scripts/tell.sh": TELLS,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


async def as_admin(world: World, *arguments: str) -> Done:
    """Run `kubectl kudo` as somebody who may read logs, which the user may not."""
    cluster = world.installation.cluster
    kubeconfig = f"--kubeconfig={cluster.kubeconfig('admin')}"
    program = str(Path(sys.executable).with_name("kubectl-kudo"))
    return await run([program, kubeconfig, f"--namespace={world.namespace}", *arguments])


def steps_of(instance: Json, plan: str = "deploy") -> dict[str, Json]:
    (phase,) = entry(instance, plan)["phases"]
    return {step["name"]: step for step in phase["steps"]}


async def test_a_later_step_sees_what_a_program_wrote_in_a_restricted_namespace(
    world: World, inside: Kubectl, tmp_path: Path
) -> None:
    label = "pod-security.kubernetes.io/enforce=restricted"
    inside("label", "namespace", world.namespace, label)
    package = shop(tmp_path, COUNTS, steps=NOTE, outputs=", outputs: [rows, of]")
    done = await world.kudo("install", package, "--instance", "shop", *WAIT)
    assert done.code == 0, done.output
    assert (await world.get(CONFIG_MAPS, "note"))["data"] == {"rows": "2", "of": "two words"}
    steps = steps_of(await world.instance("shop"))
    assert steps["count"]["outputs"] == {"count": {"rows": "2", "of": "two words"}}
    assert steps["tell"]["outputs"] == {"tell": {"told": "2 of two words"}}
    (pod,) = inside.get("pods", "--selector=kudo.dev/job-of=count")["items"]
    assert pod["metadata"]["labels"]["made"] == "by-template"
    assert inside("logs", pod["metadata"]["name"]) == "for shop: two words\n"


async def test_a_failure_tells_exit_code_and_message_and_the_log_to_who_may_read_it(
    world: World, inside: Kubectl, tmp_path: Path
) -> None:
    done = await world.kudo("install", shop(tmp_path, FAILS), "--instance", "shop", *WAIT)
    assert done.code == ExitCode.PLAN_FAILED, done.output
    (job,) = inside.get("jobs")["items"]
    failed = (
        f"job {job['metadata']['name']} failed: container main ended with exit code 3: "
        "the database is not there"
    )
    assert failed in done.stderr
    (pod,) = inside.get("pods")["items"]
    whose = f"pod {pod['metadata']['name']}, container main:"
    lacking = f"{whose} you need get on pods/log in namespace {world.namespace}"
    assert f"  to see the log of {lacking}\n" in done.stderr
    assert "attempt" not in done.output
    instance = await world.instance("shop")
    assert failed in steps_of(instance)["count"]["message"]
    assert "attempt" not in str(instance)

    head = f"ast lines of {whose}"
    lines = [*(f"attempt {number}" for number in range(12, 31)), "no connection"]
    why = await as_admin(world, "why", "shop")
    assert f"L{head}\n" + "".join(f"  {line}\n" for line in lines) in why.stdout
    shown = await as_admin(world, "plan", "status", "--instance", "shop")
    _, _, below = shown.stdout.partition(f"l{head}\n")
    assert [line.partition("── ")[2] for line in below.splitlines()[:20]] == lines
    waited = await as_admin(world, "plan", "wait", "--instance", "shop")
    assert f"  l{head}\n" + "".join(f"    {line}\n" for line in lines) in waited.stderr


async def test_a_user_that_is_root_is_refused_and_the_field_that_allows_it_is_named(
    world: World, tmp_path: Path
) -> None:
    package = shop(tmp_path, COUNTS, user="")
    done = await world.kudo("install", package, "--instance", "shop")
    assert done.code == 0, done.output

    def is_refused(instance: Json) -> bool:
        return "runAsNonRoot" in messages(instance, "deploy")

    instance = await world.until("shop", is_refused, "the message of the kubelet")
    said = messages(instance, "deploy")
    assert "container has runAsNonRoot and image will run as root" in said
    assert "spec.securityContext.runAsUser in the podTemplate of the task" in said


async def test_a_read_only_file_system_is_named_with_the_field_that_allows_to_write(
    world: World, tmp_path: Path
) -> None:
    done = await world.kudo("install", shop(tmp_path, WRITES), "--instance", "shop", *WAIT)
    assert done.code == ExitCode.PLAN_FAILED, done.output
    assert "container main ended with exit code 1: touch: /etc/mine: Read-only file" in done.stderr
    assert "readOnlyRootFilesystem: false in the podTemplate of the task" in done.stderr


async def test_a_program_that_writes_no_outputs_ends_the_plan(world: World, tmp_path: Path) -> None:
    package = shop(tmp_path, "echo hello", outputs=", outputs: [rows]")
    done = await world.kudo("install", package, "--instance", "shop", *WAIT)
    assert done.code == ExitCode.PLAN_FAILED, done.output
    instance = await world.instance("shop")
    assert reason_of(instance, "Stalled")[0] == "True"
    assert "outputs" in messages(instance, "deploy")
    assert instance["status"]["history"][0]["reason"] == "OutputsInvalid"
