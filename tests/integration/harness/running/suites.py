"""Writes suites for tests and runs them on a cluster."""

import os
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubectl_kudo.commands.test.host import HOST, kudo_verdict
from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import NAMESPACES, Resource
from kudo_harness.planning.plan import PlanOptions
from kudo_harness.planning.planner import plan_run
from kudo_harness.report import CaseResult, StepResult, SuiteResult
from kudo_harness.running.log import RunOptions, TextLog
from kudo_harness.running.run import run_suite
from kudo_harness.running.waiting import Interruption
from kudo_harness.suite import SuiteRequest, load_suite
from kudo_harness.target import Target
from tests.support.build import Json

Files = Mapping[str, str]
HEAD = "apiVersion: kuttl.dev/v1beta1\nkind: TestSuite\n"


@dataclass
class Ran:
    """A run that has ended.

    Attributes:
        result: Its result.
        log: Its log.
        namespaces: Namespaces of its cases, by name of the case.
    """

    result: SuiteResult
    log: str
    namespaces: Mapping[str, str]

    def case(self, name: str = "") -> CaseResult:
        """Return the case of a name, or the only one."""
        found = [case for _, case in self.result.cases if not name or case.name == name]
        assert len(found) == 1, found
        return found[0]

    def steps(self, name: str = "") -> tuple[StepResult, ...]:
        return self.case(name).steps

    def why(self, name: str = "") -> str:
        """Return message and details of the only failure of a case."""
        found = [failure for _, failure in self.case(name).failures]
        assert len(found) == 1, found
        return f"{found[0].message}\n{found[0].details}"

    def passed(self) -> "Ran":
        """Check that everything passed, and return the run."""
        assert self.result.passed, self.log
        return self


@dataclass
class Runs:
    """Runs suites.

    Attributes:
        folder: Of their files; commands of suites run in it.
        kubeconfig: Of the cluster.
        client: An admin's connection.
        programs: Folder of kubectl.
    """

    folder: Path
    kubeconfig: Path
    client: Client
    programs: Path
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, files: Files) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).removeprefix("\n"))

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    async def run(
        self,
        files: Files,
        suite: str = "",
        *,
        interruption: Interruption | None = None,
        wait: bool = False,
        labels: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run the cases of the folder `tests`.

        Args:
            files: Files of the suite, by their paths.
            suite: Fields of the TestSuite.
            interruption: What ends the run.
            wait: Whether to wait until namespaces are gone.
            labels: Labels of the run, which TestFiles select.
        """
        self.write(files)
        config = self.folder / "kudo-test.yaml"
        config.write_text(HEAD + textwrap.dedent(suite))
        lines: list[str] = []
        environment = {**os.environ, **self.environment}
        state = self.folder / "state"
        state.mkdir(exist_ok=True)
        options = RunOptions(state, self.folder, environment, interruption or Interruption(), wait)
        target = Target(self.client, self.kubeconfig, (self.programs,), None, True, HOST)
        return await run_folder(target, options, lines, labels or {})

    async def exists(self, resource: Resource, name: str, namespace: str = "") -> bool:
        return name in await self.names(resource, namespace)

    async def is_deleted(self, namespace: str) -> bool:
        """Return whether a namespace is gone or being deleted."""
        try:
            found = await self.client.get(NAMESPACES, namespace)
        except NotFound:
            return True
        return bool(found["metadata"].get("deletionTimestamp"))

    async def names(self, resource: Resource, namespace: str = "") -> set[str]:
        listed = await self.client.list(resource, namespace=namespace or None)
        return {one["metadata"]["name"] for one in listed.items}


async def run_folder(
    target: Target, options: RunOptions, lines: list[str], labels: Mapping[str, str]
) -> Ran:
    """Run the suite in the folder where the options say that the harness runs."""
    namespaces: dict[str, str] = {}

    def namespace_of(case: str) -> str:
        return namespaces.setdefault(case, f"run-{os.urandom(5).hex()}")

    folder = options.working_folder
    dirs = (str(folder / "tests"),)
    request = SuiteRequest(
        config=folder / "kudo-test.yaml", test_dirs=dirs, namespace_of=namespace_of, labels=labels
    )
    loaded = load_suite(request)
    given = PlanOptions(kubeconfig=str(target.kubeconfig), allow_faults=target.faults)
    plan = plan_run(loaded, given, kudo_verdict)
    result = await run_suite(loaded, plan, target, options, TextLog(lines.append))
    cases = [case for one in loaded.test_dirs for case in one.cases]
    return Ran(result, "".join(lines), {case.name: case.namespace for case in cases})


def config_map(name: str, namespace: str = "", **data: str) -> str:
    """Return a ConfigMap in YAML."""
    lines = ["apiVersion: v1", "kind: ConfigMap", "metadata:"]
    lines += [f"  name: {name}"] if name else []
    lines += [f"  namespace: {namespace}"] if namespace else []
    lines += ["data:"] if data else []
    lines += [f'  {key}: "{value}"' for key, value in data.items()]
    return "\n".join(lines) + "\n"


def step(**fields: object) -> str:
    return _kind("TestStep", fields)


def checks(**fields: object) -> str:
    return _kind("TestAssert", fields)


def _kind(kind: str, fields: Mapping[str, object]) -> str:
    import json

    return json.dumps({"apiVersion": "kuttl.dev/v1beta1", "kind": kind, **fields}) + "\n"


def as_yaml(obj: Json) -> str:
    import json

    return json.dumps(obj) + "\n"
