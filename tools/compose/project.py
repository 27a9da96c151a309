"""The services of docker-compose.yml, run by docker-compose."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.compose.engine import ComposeError, Engine, until

_OVERRIDE = Path(__file__).with_name("override.yml")
_NOT_LINKED = {".git", ".kudo", ".venv"}
_LOG_LINES = 25


def link(checkout: Path, directory: Path) -> None:
    """Make a directory that looks like a checkout in which nobody has run the file yet."""
    directory.mkdir()
    for path in checkout.iterdir():
        if path.name not in _NOT_LINKED:
            (directory / path.name).symlink_to(path)


@dataclass(frozen=True, slots=True)
class Project:
    """One run of the file.

    Attributes:
        program: words of the command, such as docker-compose.
        engine: where it runs.
        directory: of the project.
    """

    program: Sequence[str]
    engine: Engine
    directory: Path

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig for people."""
        return self.directory / ".kudo" / "compose" / "user.yaml"

    def version(self) -> str:
        """Return the version of docker-compose, such as 1.29.2."""
        return self._capture([*self.program, "version", "--short"]).strip()

    def run(self, *arguments: str) -> None:
        """Run docker-compose with our output; raises ComposeError if it fails."""
        done = subprocess.run(self._command(arguments), env=self._environ())
        if done.returncode:
            shown = " ".join(("docker-compose", *arguments))
            raise ComposeError(f"`{shown}` failed with exit code {done.returncode}")

    def container(self, service: str) -> str:
        """Return the id of a service's container; raises ComposeError if there is none."""
        listed = self._capture(self._command(("ps", "--all", "--quiet", service))).split()
        if len(listed) != 1:
            raise ComposeError(f"{service} has {len(listed)} containers instead of one")
        return listed[0]

    def problem(self, service: str) -> str | None:
        """Return why a service does not run, or is not healthy if it has a health check."""
        state = self.engine.inspect(self.container(service))
        health = state.get("Health", {"Status": "healthy"})
        if state["Status"] == "running" and health["Status"] == "healthy":
            return None
        said = [entry["Output"].strip() for entry in health.get("Log", [])[-1:]]
        return " ".join([f"{service}: {state['Status']}, {health['Status']}", *said])

    def until_healthy(self, service: str, seconds: float) -> None:
        """Wait until a service has no problem; raises ComposeError with the last one."""
        until(f"{service} runs and is healthy", lambda: self.problem(service), seconds)

    def state(self) -> str:
        """Return what each service lacks, with the end of its log."""
        return "\n".join(self._lacking()) or "All services run and are healthy."

    def _lacking(self) -> Iterator[str]:
        services = self._capture(self._command(("config", "--services"))).split()
        for service in sorted(services):
            try:
                state = self.engine.inspect(self.container(service))
                ended = state["Status"] == "exited" and state["ExitCode"] == 0
                problem = None if ended else self.problem(service)
            except ComposeError as error:
                yield f"{service}: {error}"
                continue
            if problem is not None:
                yield f"{problem}\n{self._log(service)}"

    def _log(self, service: str) -> str:
        read = ["docker", f"--host={self.engine.address}", "logs", f"--tail={_LOG_LINES}"]
        done = subprocess.run(
            [*read, self.container(service)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return f"The end of the log of {service}:\n{done.stdout}"

    def _command(self, arguments: Sequence[str]) -> list[str]:
        files = [self.directory / "docker-compose.yml", _OVERRIDE]
        options = [f"--project-directory={self.directory}", "--project-name=kudo-compose"]
        return [*self.program, *options, *(f"--file={path}" for path in files), *arguments]

    def _capture(self, command: Sequence[str]) -> str:
        done = subprocess.run(command, env=self._environ(), capture_output=True, text=True)
        if done.returncode:
            raise ComposeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
        return done.stdout

    def _environ(self) -> dict[str, str]:
        # Not the settings for other projects and engines.
        ours = {n: v for n, v in os.environ.items() if not n.startswith(("COMPOSE_", "DOCKER_"))}
        return {**ours, "DOCKER_HOST": self.engine.address}
