"""Prometheus beside the cluster: it is told of pods what the chart writes into their annotations.

It does not find them by itself, because Debian builds it without its search in Kubernetes.
"""

import json
import math
import os
import signal
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.processes.process import wait_until_gone
from tests.support.build import Json
from tests.support.cluster.site import Site, wait_until
from tools.chart.helm import render

_ANNOTATION = "prometheus.io/"
_TARGETS = "targets.json"
_STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Prometheus:
    """One that scrapes each second and has the alerts of the chart.

    Attributes:
        url: Of its API.
        folder: Where its files are.
    """

    url: str
    folder: Path

    def aim(self, pods: Sequence[Json]) -> None:
        """Have it scrape these pods, as their annotations tell it, and no others."""
        written = self.folder / "new.json"
        written.write_text(json.dumps([_target(pod) for pod in pods]), encoding="utf-8")
        written.rename(self.folder / _TARGETS)

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def values(self, expression: str) -> list[float]:
        """Return the values of an instant query, but those that are no number."""
        results = self._ask("query", query=expression)["result"]
        numbers = [float(one["value"][1]) for one in results]
        return [number for number in numbers if not math.isnan(number)]

    def up(self) -> dict[str, str]:
        """Return the health of each target by the name of its pod."""
        targets = self._ask("targets")["activeTargets"]
        return {target["labels"]["pod"]: target["health"] for target in targets}

    def rules(self) -> dict[str, Json]:
        """Return each alert by its name, as Prometheus evaluates it."""
        groups = self._ask("rules")["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}

    def _ask(self, what: str, **parameters: str) -> Json:
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self.url}/api/v1/{what}?{query}", timeout=10) as answer:
            found: Json = json.load(answer)["data"]
        return found


def alerts() -> Json:
    """Return the groups of alerts as the chart renders them."""
    values = {"monitoring": {"prometheusRule": {"enabled": True}}}
    [found] = [one for one in render(values) if one["kind"] == "PrometheusRule"]
    spec: Json = found["spec"]
    return spec


@contextmanager
def prometheus(site: Site, folder: Path) -> Iterator[Prometheus]:
    """Run it for the block; its files are in a folder."""
    [port] = free_ports(1)
    (folder / "alerts.yaml").write_text(yaml.safe_dump(alerts()), encoding="utf-8")
    config = folder / "prometheus.yaml"
    config.write_text(yaml.safe_dump(_config()), encoding="utf-8")
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data"]
    command += [f"--web.listen-address=127.0.0.1:{port}"]
    found = Prometheus(f"http://127.0.0.1:{port}", folder)
    process = site.supervision.start(command, folder / "prometheus.log", dict(os.environ))
    try:
        wait_until(found.ready, f"Prometheus, which writes {folder}/prometheus.log")
        yield found
    finally:
        process.signal(signal.SIGTERM)
        assert wait_until_gone([process], _STOP_SECONDS) == []


def _config() -> Json:
    pods = {
        "job_name": "pods",
        "file_sd_configs": [{"files": [_TARGETS], "refresh_interval": "1s"}],
        "relabel_configs": [
            {"source_labels": ["path"], "target_label": "__metrics_path__"},
            {"regex": "path", "action": "labeldrop"},
        ],
    }
    intervals = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    return {"global": intervals, "rule_files": ["alerts.yaml"], "scrape_configs": [pods]}


def _target(pod: Json) -> Json:
    said = {
        name.removeprefix(_ANNOTATION): value
        for name, value in pod["metadata"]["annotations"].items()
        if name.startswith(_ANNOTATION)
    }
    assert said.pop("scrape") == "true"
    labels = {"pod": pod["metadata"]["name"], "path": said["path"]}
    return {"targets": [f"{pod['status']['podIP']}:{said['port']}"], "labels": labels}
