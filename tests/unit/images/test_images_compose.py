"""docker-compose.yml fits the images, the services and the files that it mounts."""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.images.version import ROOT, current

_FILE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
_SERVICES: dict[str, dict[str, Any]] = _FILE["services"]
_OURS = ("webhook", "reconciler")
_WRITTEN = "./.kudo/compose"


def mounts() -> list[tuple[str, str]]:
    volumes = [volume for service in _SERVICES.values() for volume in service.get("volumes", [])]
    return [tuple(volume.split(":")[:2]) for volume in volumes if volume.startswith("./")]


def written(source: str) -> bool:
    """Return whether the set-up writes `source`, as it does the credentials of each service."""
    return Path(source).is_relative_to(_WRITTEN)


def test_everything_that_is_mounted_is_in_the_repository_or_written_by_it() -> None:
    sources = {source for source, _ in mounts() if not written(source)}
    assert sources
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_no_image_names_a_host() -> None:
    for service in _SERVICES.values():
        repository, tag = service["image"].rsplit(":", 1)
        assert tag
        assert "." not in repository.split("/")[0]


@pytest.mark.parametrize("name", _OURS)
def test_our_services_are_built_here_and_as_restricted_as_in_a_cluster(name: str) -> None:
    service = _SERVICES[name]
    assert service["image"] == f"kudo-{name}:{current().number}"
    assert service["build"] == {"context": ".", "target": name}
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", _OURS)
def test_our_services_understand_their_options(name: str) -> None:
    settings = importlib.import_module(f"kudo_{name}.settings").Settings.read(
        _SERVICES[name]["command"], {}
    )
    # Each service has a folder of its own, so that it never sees the credentials of the other.
    [(source, folder)] = [tuple(v.split(":")[:2]) for v in _SERVICES[name]["volumes"]]
    assert source == f"{_WRITTEN}/kudo-{name}"
    assert str(settings.kubeconfig) == f"{folder}/kubeconfig.yaml"
    if name == "reconciler":
        assert str(settings.digest_key_file) == f"{folder}/digest-key"


@pytest.mark.parametrize("name", _OURS)
def test_our_services_are_healthy_when_they_are_ready(name: str) -> None:
    module = importlib.import_module(f"kudo_{name}.settings")
    settings = module.Settings.read(_SERVICES[name]["command"], {})
    *python, code, port = _SERVICES[name]["healthcheck"]["test"]
    assert python == ["CMD", "python3", "-Ic"]
    assert port == str(settings.probe_port)
    compile(code, name, "exec")
    assert "/readyz" in code


def test_who_watches_our_services_waits_until_they_are_healthy() -> None:
    waits = _SERVICES["prometheus"]["depends_on"]
    assert waits == {name: {"condition": "service_healthy"} for name in _OURS}


def test_prometheus_scrapes_the_ports_of_the_probes() -> None:
    prometheus = yaml.safe_load((ROOT / "compose" / "prometheus.yml").read_text())
    targets = [
        target
        for job in prometheus["scrape_configs"]
        for group in job["static_configs"]
        for target in group["targets"]
    ]
    assert targets == ["webhook:8081", "reconciler:8080"]


def test_the_webhook_answers_under_the_name_that_its_certificate_is_made_for() -> None:
    (name,) = _SERVICES["webhook"]["networks"]["default"]["aliases"]
    setup = (ROOT / "compose" / "setup.sh").read_text()
    assert re.findall(r"https://(kudo[\w.-]+):(\d+)", setup) == [(name, "9443")]


def test_nothing_is_reachable_from_other_machines() -> None:
    ports = [port for service in _SERVICES.values() for port in service.get("ports", [])]
    assert len(ports) == 3
    assert all(port.startswith("127.0.0.1:") for port in ports)
