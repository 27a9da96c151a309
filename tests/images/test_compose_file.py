"""docker-compose itself accepts docker-compose.yml."""

import subprocess

import yaml

from tools.images.version import ROOT


def test_docker_compose_parses_the_file_and_completes_it() -> None:
    command = ["docker-compose", "--file", "docker-compose.yml", "config"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    assert set(services) == {"k3s", "setup", "webhook", "reconciler", "prometheus", "grafana"}
    for name in ("webhook", "reconciler"):
        assert services[name]["depends_on"]["setup"]["condition"] == (
            "service_completed_successfully"
        )
        assert services[name]["cap_drop"] == ["ALL"]
