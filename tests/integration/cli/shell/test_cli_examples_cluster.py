"""The examples of every `--help` are run by a shell, in a namespace of a real API server.

Those of `package` and `init` are run by `tests/unit/cli`; all others by this module, also those of
commands that are yet to come. What an example needs is prepared by command lines; one that nothing
is prepared for is run in a folder with the package `web`, and has to succeed as it is.
"""

from pathlib import Path

import pytest

from tests.support.cluster.shell import Shell
from tests.support.cluster.world import World
from tests.support.examples import other_examples

EXAMPLES = other_examples("package", "init")
OPERATOR = """\
name: web
operatorVersion: 0.1.0
kubernetesVersion: 1.22.0
tasks:
  - {name: app, kind: Apply, spec: {resources: [page.yaml]}}
  - {name: hang, kind: Apply, spec: {resources: [job.yaml]}}
plans:
  deploy: &plan
    phases: [{name: all, steps: [{name: app, tasks: [app]}]}]
  backup: *plan
  hang:
    phases: [{name: all, steps: [{name: hang, tasks: [hang]}]}]
"""
PARAMETERS = """\
parameters:
  - {name: replicas, type: integer, default: 1}
"""
PAGE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: page}
data: {replicas: "{{ .Params.replicas }}"}
"""
# The image cannot be pulled, so it is never done.
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: hang}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: never-pulls}]
"""
INSTALL = "kubectl kudo install ./web --instance web --wait"
NEWER = """\
sed -i s/0.1.0/0.2.0/ web/operator.yaml
echo '  - {name: cacheSize, default: "32"}' >> web/params.yaml
sed -i 's/^data: .*/&\\n  # {{ .Params.cacheSize }}/' web/templates/page.yaml
"""
PACKED = """\
mkdir dist
cp -r web kafka
sed -i 's/name: web/name: kafka/; s/0.1.0/1.3.3/' kafka/operator.yaml
kubectl kudo package create ./kafka -d dist
"""
DIST = f"{PACKED}kubectl kudo repo index dist --url file://$PWD/dist"
OWN = f"""\
{DIST}
kubectl kudo repo add own file://$PWD/dist
kubectl kudo repo context own
"""
MY_KAFKA = "kubectl kudo install ./web --instance my-kafka --wait"
# The run has begun before it is cancelled: one that never began cannot be retried.
FAILED = """\
kubectl kudo install ./web --instance web --wait
kubectl kudo plan trigger --instance web --name {plan} --wait --wait-time 5 || true
kubectl kudo plan cancel --instance web --wait
"""
BACKUP = """\
copy='{name: copy, tasks: [hang]}'
upload='{name: upload, tasks: [app]}'
sed -i "s/backup: .*/backup: {phases: [{name: main, steps: [$copy, $upload]}]}/" web/operator.yaml
"""
PREPARED = {
    "adopt": INSTALL,
    "completion": "mkdir -p ~/.zfunc ~/.config/fish/completions ~/.local/bin",
    "describe": MY_KAFKA,
    "diagnostics": INSTALL,
    "get": INSTALL,
    "get instance ": MY_KAFKA,
    "install kafka": OWN,
    # The reconciler of a local cluster is a user; plans of this example act as an account.
    "install ./web --instance web --create-service-account": (
        "kubectl create rolebinding kudo-impersonator --clusterrole=kudo-impersonator "
        "--user=kudo-reconciler"
    ),
    "install web --in-cluster": INSTALL,
    "install ./web --instance web --upgrade": INSTALL,
    "install ./web --upgrade": (
        "kubectl kudo install ./web --wait && sed -i s/page/changed/ web/templates/page.yaml"
    ),
    "plan": INSTALL,
    "plan cancel": f"{INSTALL}\nkubectl kudo plan trigger --instance web --name hang",
    "plan retry": FAILED.format(plan="hang"),
    "plan retry --instance web --name backup --from": BACKUP + FAILED.format(plan="backup"),
    "plan status --instance web --plan backup": (
        f"{INSTALL}\nkubectl kudo plan trigger --instance web --name backup --wait"
    ),
    "prune": INSTALL,
    "rbac": INSTALL,
    "repo add": DIST,
    "repo context": OWN,
    "repo index": PACKED,
    "repo index dist --url-repo": OWN,
    "repo remove": OWN,
    "repo serve": DIST,
    "resume": INSTALL,
    "search": OWN,
    "suspend": INSTALL,
    "test ./web": "kubectl kudo test --new ./web",
    "test --render-only": "kubectl kudo test --render-only --update ./web",
    "uninstall": INSTALL,
    "uninstall --all-unused": f"{INSTALL}\nkubectl kudo uninstall --instance web --wait",
    "update": INSTALL,
    "upgrade": f"{INSTALL}\n{NEWER}",
    "upgrade ./web-0.2.0.tgz": f"{INSTALL}\n{NEWER}\nkubectl kudo package create ./web",
}
"""Commands to run before an example that begins so; the longest beginning counts."""
REPLACED = {
    # A namespace of the test stands for that of the example.
    " -n shop": "",
    # There are no servers of these names.
    "https://packages.example.org/v1": "file://$PWD/dist",
    "file:///srv/packages": "file://$PWD/dist",
}
LACKING = ("rbac --instance web --check", "rbac --check --all-namespaces")
"""Examples that end with 1, since no account of the test has rights."""
RUNNING = ("repo serve",)
"""Examples that run until they are stopped."""


@pytest.fixture
def shell(world: World, tmp_path: Path) -> Shell:
    """Return a shell in a folder with the package `web` and a file of values."""
    # Only an administrator may look into all namespaces.
    shell = Shell(world, tmp_path, "admin")
    templates = shell.folder / "web" / "templates"
    templates.mkdir(parents=True)
    (templates.parent / "operator.yaml").write_text(OPERATOR)
    (templates.parent / "params.yaml").write_text(PARAMETERS)
    (templates / "page.yaml").write_text(PAGE)
    (templates / "job.yaml").write_text(JOB)
    (shell.folder / "values.yaml").write_text("replicas: 2\n")
    return shell


@pytest.mark.parametrize("example", EXAMPLES)
async def test_an_example_of_a_help_runs(shell: Shell, example: str) -> None:
    beginning = max((one for one in PREPARED if example.startswith(one)), key=len, default="")
    if beginning:
        await shell.run(PREPARED[beginning])
    line = f"kubectl kudo {example}"
    for written, replaced in REPLACED.items():
        line = line.replace(written, replaced)
    if example.startswith(RUNNING):
        async with shell.running(line) as first:
            assert "http://127.0.0.1" in first
        return
    await shell.run(f"{line} || test $? = 1" if example in LACKING else line)
    written_to = line.partition(" > ")[2]
    if written_to:
        await shell.run(f"test -s {written_to}")


def test_nothing_is_prepared_or_replaced_for_examples_that_are_gone() -> None:
    assert [one for one in PREPARED if not any(line.startswith(one) for line in EXAMPLES)] == []
    assert [
        one for one in (*REPLACED, *RUNNING, *LACKING) if not any(one in line for line in EXAMPLES)
    ] == []
