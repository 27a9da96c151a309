"""Installs, changes and uninstalls an operator, then upgrades another one, on a real API server.

Every command shown is the one that is run, as a user without any rights on workloads. The script
fails if a command succeeds or fails unexpectedly.
"""

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from kudo_cluster import Cluster, ClusterError, current
from kudo_cluster.current import Context, CurrentCluster
from kudo_cluster.installation import LOOPBACK, Host, Installation
from kudo_cluster.progress import announce

_ROOT = Path(__file__).resolve().parents[2]
_OPERATOR = "examples/first-operator"
_INSTANCE = "hello"
_LIFECYCLE = "examples/lifecycle"
_BOOK = "book"


class DemoError(Exception):
    """A command succeeded or failed unexpectedly, or the user did not confirm."""


class Shell:
    """Runs commands as a user of the cluster would, and shows them."""

    def __init__(self, cluster: Host) -> None:
        programs = (Path(sys.executable).parent, cluster.binary("kubectl").parent)
        path = os.pathsep.join([*map(str, programs), os.environ.get("PATH", "")])
        self.environment = {
            **os.environ,
            "PATH": path,
            "KUBECONFIG": str(cluster.kubeconfig("user")),
            # The usual cache is kept by port, and another cluster may have had ours.
            "KUBECACHEDIR": str(cluster.directory / "kubectl-cache"),
        }

    def succeed(self, command: str) -> str:
        return self._run(command, denied=False)

    def be_denied(self, command: str) -> str:
        return self._run(command, denied=True)

    def _run(self, command: str, *, denied: bool) -> str:
        print(f"\n$ {command}", flush=True)
        done = subprocess.run(
            shlex.split(command),
            cwd=_ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            # Progress goes straight to the terminal; a denial is shown among the lines.
            stderr=subprocess.STDOUT if denied else None,
            text=True,
            check=False,
        )
        if done.stdout:
            print(done.stdout.rstrip("\n"), flush=True)
        if denied and done.returncode == 0:
            raise DemoError(f"this should have been denied: {command}")
        if not denied and done.returncode != 0:
            raise DemoError(f"this failed with exit code {done.returncode}: {command}")
        return done.stdout


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the cluster running at the end")
    parser.add_argument(
        "--context",
        metavar="NAME",
        help="use the cluster of this context of the kubeconfig (current: of its current context), "
        "and remove what was created there",
    )
    parser.add_argument(
        "--address",
        default=LOOPBACK,
        help="with --context: the address of this machine at which that cluster's API "
        "server reaches it (default: %(default)s)",
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="with --context: do not ask, also if the cluster is not on this machine",
    )
    options = parser.parse_args(arguments)
    # SIGTERM must run the `finally` blocks too: they stop the cluster.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = time.monotonic()
    try:
        if options.context:
            named = "" if options.context == "current" else options.context
            context = current.read(os.environ, named)
            _demo_there(context, options.address, yes=options.yes)
        else:
            _demo(keep=options.keep, started=started)
    except (ClusterError, DemoError) as error:
        print(f"\nError: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    return 0


def _demo(*, keep: bool, started: float) -> None:
    print("This starts a Kubernetes API server here, installs KUDO and shows two operators on it.")
    print("It takes a minute; the first time some minutes more, for the control plane.")
    _say("A Kubernetes control plane with a simulated node, started for this demo")
    with Cluster.start(name="demo", progress=announce) as cluster:
        _say("KUDO: four CRDs, the admission webhook with TLS, the reconciler")
        with Installation.start(cluster, crds=_ROOT / "crds", progress=announce):
            shell = Shell(cluster)
            _story(shell)
            _second_story(shell)
            _say(f"That was the demo: {time.monotonic() - started:.0f} s")
            if keep:
                _keep(shell)
            else:
                print("`make demo KEEP=1` leaves the cluster running, to try more.")


def _demo_there(context: Context, address: str, *, yes: bool) -> None:
    print(f"This shows two operators on the cluster of context {context.name}, {context.server}.")
    print(f"Created there, and removed at the end: the namespaces {current.SYSTEM_NAMESPACE} and")
    print(
        f"{current.NAMESPACE}, the CRDs of KUDO, its webhook configurations, and the rights of its"
    )
    print("services, which run on this machine.")
    _confirm(context, yes=yes)
    with current.provision(context, announce) as cluster, _crds(cluster):
        _say("KUDO: the admission webhook with TLS, and the reconciler")
        with _services(cluster, address):
            shell = Shell(cluster)
            _story(shell)
            _second_story(shell)
        _say("That was the demo; what it created is being removed")


def _confirm(context: Context, *, yes: bool) -> None:
    """Ask for confirmation, unless the cluster is on this machine.

    Raises:
        DemoError: it was not given, or stdin is not a terminal.
    """
    # On a cluster of others nothing is created by mistake, such as a wrong current context.
    if yes or context.local:
        return
    if not sys.stdin.isatty():
        raise DemoError(
            f"{context.server} is not on this machine, and there is no terminal to confirm on: add "
            f"--yes (make demo CONTEXT={context.name} YES=1) if this is the cluster that you mean"
        )
    answer = input(
        f"It is not on this machine. Type the context's name, {context.name}, to continue: "
    )
    if answer.strip() != context.name:
        raise DemoError("nothing was done")


@contextlib.contextmanager
def _crds(cluster: CurrentCluster) -> Iterator[None]:
    with contextlib.ExitStack() as made:
        announce("creating the CRDs")
        for path in sorted((_ROOT / "crds").glob("*.yaml")):
            current.create(cluster, path.read_text(encoding="utf-8"), made, announce)
        # The services list Instances as soon as they start.
        established = ("--for=condition=Established", "--timeout=60s")
        current.kubectl(cluster, "wait", *established, "-f", str(_ROOT / "crds"))
        yield


@contextlib.contextmanager
def _services(cluster: CurrentCluster, address: str) -> Iterator[None]:
    """Run the services; delete Instances before they stop: the reconciler removes the finalizer."""
    with Installation.start(cluster, crds=None, address=address, progress=announce) as kudo:
        try:
            yield
        finally:
            with contextlib.suppress(ClusterError):
                current.kubectl(
                    cluster, "delete", "instances.kudo.dev", "--all", "--timeout=60s",
                    f"--namespace={current.NAMESPACE}",
                )  # fmt: skip
            kudo.unregister_webhook()
            kudo.remove_policy()


def _story(shell: Shell) -> None:
    kudo, instance = "kubectl kudo", f"--instance {_INSTANCE}"
    _say("Install an operator package and wait for its deploy plan")
    shell.succeed(f"{kudo} install ./{_OPERATOR} {instance} --wait")
    tree = shell.succeed(f"{kudo} plan status {instance}")
    _expect("COMPLETE", tree)

    _say("Change a parameter: the next run starts")
    shell.succeed(f"{kudo} update {instance} -p replicas=3 --wait")
    tree = shell.succeed(f"{kudo} plan status {instance}")
    _expect("COMPLETE", tree)
    replicas = shell.succeed(f"kubectl get deployment {_INSTANCE} -o jsonpath={{.spec.replicas}}")
    _expect("3", replicas)

    _say("What KUDO denies: a change of an immutable parameter")
    _expect("immutable", shell.be_denied(f"{kudo} update {instance} -p port=9090"))

    _say("What KUDO denies: triggering the cleanup plan")
    _expect("cleanup", shell.be_denied(f"{kudo} plan trigger {instance} --name cleanup"))

    _say("What KUDO denies: a second plan while one is running")
    shell.succeed(f"{kudo} plan trigger {instance} --name check")
    _expect("running", shell.be_denied(f"{kudo} plan trigger {instance} --name deploy"))
    shell.succeed(f"{kudo} plan status {instance} --wait")

    _say("Uninstall: the cleanup plan runs, then the instance and its objects are deleted")
    shell.succeed(f"{kudo} uninstall {instance} --wait")
    shell.succeed("kubectl get events --field-selector=involvedObject.kind=Instance")
    shell.succeed(f"{kudo} get instances")


def _second_story(shell: Shell) -> None:
    kudo, instance = "kubectl kudo", f"--instance {_BOOK}"
    _say("A second operator, in two versions: install the first one")
    shell.succeed(f"{kudo} package verify ./{_LIFECYCLE}/v1")
    shell.succeed(f"{kudo} install ./{_LIFECYCLE}/v1 {instance} --wait")

    _say("A Toggle task: a boolean parameter creates objects, and deletes them")
    shell.succeed(f"{kudo} update {instance} -p counter=true --wait")
    deployments = f"kubectl get deployments -l kudo.dev/instance={_BOOK}"
    _expect(f"{_BOOK}-counter", shell.succeed(deployments))
    shell.succeed(f"{kudo} update {instance} -p counter=false --wait")
    if f"{_BOOK}-counter" in shell.succeed(deployments):
        raise DemoError("the Toggle task left what it had to delete")

    _say("A change that never gets healthy: the plan shows what it waits for, and can be cancelled")
    shell.succeed(f"{kudo} update {instance} -p image=registry.example/never-pulls")
    shell.succeed(
        f"kubectl wait instances.kudo.dev/{_BOOK} --for=condition=Reconciling --timeout=30s"
    )
    _expect("[IN_PROGRESS]", shell.succeed(f"{kudo} plan status {instance}"))
    shell.succeed(f"{kudo} plan cancel {instance} --wait")
    shell.succeed(f"{kudo} update {instance} -p image=busybox --wait")

    _repair(shell, kudo, instance)

    _say("Upgrade: the plan of the new version migrates the data")
    shell.succeed(f"{kudo} upgrade ./{_LIFECYCLE}/v2 {instance} -p maxLength=100 --wait")
    tree = shell.succeed(f"{kudo} plan status {instance}")
    _expect('Operator-Version: "guestbook-0.2.0" Active-Plan: "upgrade"', tree)
    _expect("COMPLETE", tree)
    shell.succeed(f"{kudo} plan history {instance}")

    _say("What the new version no longer applies is pruned, as its operator.yaml says")
    shell.succeed(f"kubectl wait configmap/{_BOOK}-rules --for=delete --timeout=30s")
    shell.succeed(f"{kudo} get objects {instance}")

    _say("Uninstall: the cleanup plan makes a last backup, then everything is deleted")
    shell.succeed(f"{kudo} uninstall {instance} --wait")
    shell.succeed(f"{kudo} get instances")


def _repair(shell: Shell, kudo: str, instance: str) -> None:
    book = f"kubectl patch instances.kudo.dev {_BOOK} --type=merge -p"
    _say("A time limit: a plan that waits for a person fails, and the history tells why")
    shell.succeed(f"""{book} '{{"spec":{{"planTimeout":"1s"}}}}'""")
    shell.succeed(f"{kudo} plan trigger {instance} --name repair")
    shell.succeed(f"kubectl wait instances.kudo.dev/{_BOOK} --for=condition=Stalled --timeout=30s")
    _expect("TimedOut", shell.succeed(f"{kudo} plan history {instance}"))

    _say("A retry: it goes on from the step that is named, and finished steps stay finished")
    shell.succeed(f"""{book} '{{"spec":{{"planTimeout":null}}}}'""")
    shell.succeed(f"{kudo} plan retry {instance} --name repair --from repair.open --wait")
    _expect("COMPLETE", shell.succeed(f"{kudo} plan history {instance}"))


def _expect(word: str, text: str) -> None:
    if word not in text:
        raise DemoError(f"'{word}' was expected in: {text}")


def _keep(shell: Shell) -> None:
    print("\nThe cluster runs until you press Ctrl-C. In another terminal, from this folder:\n")
    for name in ("PATH", "KUBECONFIG"):
        value = shell.environment[name]
        if name == "PATH":
            value = os.pathsep.join([*value.split(os.pathsep)[:2], "$PATH"])
        print(f'  export {name}="{value}"')
    print(f"\n  kubectl kudo install ./{_OPERATOR} --wait")
    print("  kubectl kudo get all")
    signal.pause()


def _say(text: str) -> None:
    print(f"\n=== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
