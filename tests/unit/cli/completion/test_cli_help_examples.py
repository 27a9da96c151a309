"""The examples of every `--help` run as they are written, against clusters in memory.

Those of `package` and `init` are run elsewhere in `tests/unit/cli`; all others by this module, also
those of commands that are yet to come. What an example needs is prepared by command lines; one that
nothing is prepared for is run in a folder with the package `web`, and has to succeed as it is.
Those that only read or that can follow each other share a cluster; others have one of their own.
`tests/integration/cli/shell` has a shell run those that need more than an API server.
"""

import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.examples import other_examples
from tests.unit.cli.conftest import KUBECONFIG, Cli, Ran
from tests.unit.cli.live_api import LiveApi

ELSEWHERE = ("repo serve", "test ./web", "update --instance web --edit")
"""Examples that start processes; see `tests/integration/cli/shell`, and those of `--edit`."""
EXAMPLES = [
    line
    for line in dict.fromkeys(other_examples("package", "init"))
    if not line.startswith(ELSEWHERE)
]
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
kubectl kudo plan trigger --instance web --name {plan}
until IN_PROGRESS kubectl kudo plan status --instance web
kubectl kudo plan cancel --instance web --wait
"""
STEPS = "{name: copy, tasks: [hang]}, {name: upload, tasks: [app]}"
BACKUP = f"""\
sed -i "s/backup: .*/backup: {{phases: [{{name: main, steps: [{STEPS}]}}]}}/" web/operator.yaml
"""
NAMED = """\
sed -i "s/backup: .*/backup: {<<: *plan, parameters: [{name: name, default: a}]}/" web/operator.yaml
"""
PREPARED = {
    "adopt": INSTALL,
    "completion": "mkdir -p ~/.zfunc ~/.config/fish/completions ~/.local/bin",
    "describe": MY_KAFKA,
    "diagnostics": INSTALL,
    "get": INSTALL,
    "get instance ": MY_KAFKA,
    "install kafka": OWN,
    "install web --in-cluster": INSTALL,
    "install ./web --instance web --upgrade": INSTALL,
    "install ./web --upgrade": (
        "kubectl kudo install ./web --wait\nsed -i s/page/changed/ web/templates/page.yaml"
    ),
    "plan": INSTALL,
    "plan cancel": f"{INSTALL}\nkubectl kudo plan trigger --instance web --name hang",
    "plan retry": FAILED.format(plan="hang"),
    "plan retry --instance web --name backup --from": BACKUP + FAILED.format(plan="backup"),
    "plan trigger --instance web --name backup -p": NAMED + INSTALL,
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
    "resume": INSTALL,
    "search": OWN,
    "suspend": INSTALL,
    "test --render-only": "kubectl kudo test --render-only --update ./web",
    "uninstall": INSTALL,
    "uninstall --all-unused": f"{INSTALL}\nkubectl kudo uninstall --instance web --wait",
    "update": INSTALL,
    "upgrade": f"{INSTALL}\n{NEWER}",
    "why": INSTALL,
    "upgrade --to": f"{INSTALL}\n{NEWER}\nkubectl kudo install ./web --skip-instance",
    "upgrade ./web-0.2.0.tgz": f"{INSTALL}\n{NEWER}\nkubectl kudo package create ./web",
}
"""Commands to run before an example that begins so; the longest beginning counts.

One behind `until WORD` is run until it prints the word.
"""
REPLACED = {
    # A namespace of the test stands for that of the example.
    " -n shop": "",
    # There are no servers of these names.
    "https://packages.example.org/v1": "file://$PWD/dist",
    "file:///srv/packages": "file://$PWD/dist",
}
LACKING = ("rbac --instance web --check", "rbac --check --all-namespaces")
"""Examples that end with 1, since a namespace in memory has no account."""
READING = (
    *("completion", "describe", "diagnostics", "get", "plan history", "plan status", "plan wait"),
    *("rbac", "search", "version", "why"),
)
REPEATABLE = ("adopt", "prune", "resume", "suspend")
SECONDS = 30.0
"""That a line behind `until` has."""


def preparation(example: str) -> str:
    beginning = max((one for one in PREPARED if example.startswith(one)), key=len, default="")
    return PREPARED.get(beginning, "")


def batches() -> dict[str, list[str]]:
    """Return the examples by the first of those that share a cluster."""
    found: dict[tuple[str, str], list[str]] = {}
    for example in EXAMPLES:
        own = example.split()[0] if example.startswith(REPEATABLE) else example
        which = "" if example.startswith(READING) else own
        found.setdefault((preparation(example), which), []).append(example)
    return {examples[0]: examples for examples in found.values()}


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter a folder with the package `web` and a file of values."""
    folder = tmp_path / "work"
    templates = folder / "web" / "templates"
    templates.mkdir(parents=True)
    (templates.parent / "operator.yaml").write_text(OPERATOR)
    (templates.parent / "params.yaml").write_text(PARAMETERS)
    (templates / "page.yaml").write_text(PAGE)
    (templates / "job.yaml").write_text(JOB)
    (folder / "values.yaml").write_text("replicas: 2\n")
    monkeypatch.chdir(folder)


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli) -> Iterator[Cli]:
    """Yield what runs a command line on a cluster where KUDO works and Jobs do not end."""
    with LiveApi().running() as api:
        api.unavailable = {"hang"}
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG.format(url=api.url))
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        yield run


@pytest.mark.parametrize("examples", batches().values(), ids=batches())
def test_examples_of_a_help_run(web: None, live: Cli, examples: list[str]) -> None:
    for line in preparation(examples[0]).splitlines():
        prepared = typed(live, line)
        assert prepared.code == 0, f"{line}: {prepared}"
    for example in examples:
        line = f"kubectl kudo {example}"
        for written, replaced in REPLACED.items():
            line = line.replace(written, replaced)
        ran = typed(live, line)
        assert ran.code == (1 if example in LACKING else 0), f"{line}: {ran}"


def typed(run: Cli, line: str) -> Ran:
    """Run what somebody types: ours in this process, everything else by a shell."""
    if line.startswith("until "):
        _, word, line = line.split(" ", 2)
        deadline = time.monotonic() + SECONDS
        while word not in (ran := typed(run, line)).out:
            assert time.monotonic() < deadline, ran
        return ran
    ours, _, file = line.partition(" > ")
    if not ours.startswith("kubectl kudo "):
        done = subprocess.run(["sh", "-ec", line], capture_output=True, text=True, check=False)
        return Ran(done.returncode, done.stdout, done.stderr)
    ran = run(*shlex.split(ours.replace("$PWD", str(Path.cwd())))[2:])
    if file:
        assert ran.out
        Path(file).expanduser().write_text(ran.out)
    return ran


def test_nothing_is_prepared_or_replaced_for_examples_that_are_gone() -> None:
    assert [one for one in PREPARED if not any(line.startswith(one) for line in EXAMPLES)] == []
    assert [one for one in (*REPLACED, *LACKING) if not any(one in line for line in EXAMPLES)] == []
