"""Uses the services of docker-compose.yml as somebody on this machine would."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from kudo_cluster.programs.binaries import Binaries
from tools.compose.engine import ComposeError, until
from tools.compose.project import Project

INSTANCE = "hello"
COMMANDS = (
    f"kubectl kudo install ./examples/first-operator --instance {INSTANCE} --wait",
    f"kubectl kudo plan status --instance {INSTANCE}",
    f"kubectl kudo update --instance {INSTANCE} -p replicas=3 --wait",
)
"""Those of the README."""
_COMMAND_SECONDS = 300
_SCRAPED_SECONDS = 120
_ANSWER_SECONDS = 60
_PROMETHEUS = "http://127.0.0.1:9090"
_GRAFANA = "http://127.0.0.1:3000"
_WINDOW = "5m"
_GET = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=10).read().decode())"
# Reads queries, and prints what the answer to each has, then a mark.
_MARK = "----"
_ASK = f"""
while IFS= read -r query; do
    promtool query instant "$0" "$query" || {{ echo "the query: $query" >&2; exit 1; }}
    echo {_MARK}
done
"""


class Use:
    """Commands at the cluster, and requests at the published ports.

    Args:
        running: the services.
        programs: kubectl among them.
    """

    def __init__(self, running: Project, programs: Binaries) -> None:
        self._project = running
        paths = (Path(sys.executable).parent, programs.path("kubectl").parent)
        self._environ = {
            **os.environ,
            "PATH": os.pathsep.join([*map(str, paths), os.environ.get("PATH", "")]),
            "KUBECONFIG": str(running.kubeconfig),
            "KUBECACHEDIR": str(running.directory / "kubectl-cache"),
        }

    def command(self, line: str) -> None:
        """Run a command that changes or shows the Instance; show it and what it prints.

        Raises:
            ComposeError: it failed, took too long, or the plan that ran last is not COMPLETE.
        """
        print(f"\n$ {line}", flush=True)
        print(self._run(line), end="", flush=True)
        instance = json.loads(self._run(f"kubectl get instance {INSTANCE} --output=json"))
        plans = instance["status"]["planStatus"].values()
        last = max(plans, key=lambda plan: plan.get("lastUpdatedTimestamp") or "")
        if last["status"] != "COMPLETE":
            raise ComposeError(f"after `{line}` the plan {last['name']} is {last['status']}")

    def scraped(self) -> None:
        """Wait until Prometheus has our services as targets, and all are up."""
        expected = _jobs(self._project.directory)

        def problem() -> str | None:
            try:
                answer = json.loads(self._get(f"{_PROMETHEUS}/api/v1/targets"))
            except ComposeError as error:
                return str(error)
            targets = answer["data"]["activeTargets"]
            up = {target["labels"]["job"]: target["health"] for target in targets}
            if up == dict.fromkeys(expected, "up"):
                return None
            errors = [target["lastError"] for target in targets if target["lastError"]]
            return "; ".join([json.dumps(up), *errors])

        until(f"the targets {', '.join(expected)} are up", problem, _SCRAPED_SECONDS)

    def charted(self) -> tuple[int, int]:
        """Ask, from the container of Grafana, what the dashboard asks at its data source.

        Returns:
            How many queries there are, and to how many the answer has data.

        Raises:
            ComposeError: Prometheus does not answer, or refuses a query.
        """
        asked = _dashboard(self._project.directory)
        said = self._project.engine.docker(
            "exec",
            "--interactive",
            self._project.container("grafana"),
            *("sh", "-c", _ASK, _source(self._project.directory)),
            stdin="".join(f"{query}\n" for query in asked),
        )
        answers = said.split(f"{_MARK}\n")[:-1]
        return len(answers), sum(bool(answer.strip()) for answer in answers)

    def answers(self) -> None:
        """Wait until the port of Grafana answers."""

        def problem() -> str | None:
            try:
                self._get(_GRAFANA)
            except ComposeError as error:
                return str(error)
            return None

        until(f"{_GRAFANA} answers", problem, _ANSWER_SECONDS)

    def _run(self, line: str) -> str:
        command = [*self._project.engine.beside, *shlex.split(line)]
        try:
            done = subprocess.run(
                command,
                cwd=self._project.directory,
                env=self._environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_COMMAND_SECONDS,
            )
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode(errors="replace")
            reason = f"not within {_COMMAND_SECONDS} s: `{line}`; it printed:"
            raise ComposeError(f"{reason}\n{said}") from None
        if done.returncode:
            reason = f"`{line}` failed with exit code {done.returncode}:"
            raise ComposeError(f"{reason}\n{done.stdout}")
        return done.stdout

    def _get(self, url: str) -> str:
        get = [sys.executable, "-Ic", _GET, url]
        done = subprocess.run([*self._project.engine.beside, *get], capture_output=True, text=True)
        if done.returncode:
            [reason] = done.stderr.strip().splitlines()[-1:]
            raise ComposeError(f"{url}: {reason}")
        return done.stdout


def _jobs(directory: Path) -> list[str]:
    settings = _yaml(directory / "compose" / "prometheus.yml")
    return [job["job_name"] for job in settings["scrape_configs"]]


def _source(directory: Path) -> str:
    settings = _yaml(directory / "compose" / "grafana" / "datasources" / "prometheus.yaml")
    return str(settings["datasources"][0]["url"])


def _dashboard(directory: Path) -> list[str]:
    file = directory / "charts" / "kudo" / "files" / "dashboard.json"
    panels = json.loads(file.read_text(encoding="utf-8"))["panels"]
    queries = (target["expr"] for panel in panels for target in panel.get("targets", ()))
    return [query.replace("$__rate_interval", _WINDOW) for query in queries]


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))
