"""Alerts and dashboard: what Prometheus makes of them, and whether they name what there is.

Needs promtool, which the Debian package prometheus has. Each alert is tried on series on which it
has to fire, and on others on which it must not: alerts/*.yaml, in promtool's own form.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.chart.objects import named, of_set
from tools.chart.helm import CHART, Json

ROOT = CHART.parents[1]
TRIALS = Path(__file__).parent / "alerts"
_METRIC = re.compile(r"\b(?:kudo|process|python)_[a-z_]+")
_LISTED = re.compile(r"^\| `((?:kudo|process|python)_[a-z_]+)` \|", re.MULTILINE)
_SUFFIX = re.compile(r"_(?:bucket|sum|count)$")


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Return a file of rules as Prometheus reads it, made from what the chart renders."""
    spec = named(of_set("monitoring"), "PrometheusRule", "kudo")["spec"]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump(spec), encoding="utf-8")
    return file


def test_prometheus_takes_the_rules(rules: Path) -> None:
    _promtool("check", "rules", str(rules))


@pytest.mark.parametrize("trial", sorted(TRIALS.iterdir()), ids=lambda path: path.stem)
def test_alerts_fire_when_they_should_and_not_else(
    trial: Path, rules: Path, tmp_path: Path
) -> None:
    copy = tmp_path / trial.name
    copy.write_bytes(trial.read_bytes())

    _promtool("test", "rules", str(copy))


def test_every_alert_is_seen_firing_and_silent() -> None:
    seen: dict[str, set[bool]] = {str(alert["alert"]): set() for alert in _alerts()}
    for trial in TRIALS.iterdir():
        for case in yaml.safe_load(trial.read_text(encoding="utf-8"))["tests"]:
            for check in case["alert_rule_test"]:
                seen[check["alertname"]].add(bool(check["exp_alerts"]))

    assert all(found == {True, False} for found in seen.values()), seen


def test_every_alert_is_explained() -> None:
    text = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")
    explained = re.findall(r"^## (Kudo\w+)$", text, re.MULTILINE)

    assert sorted(explained) == sorted(alert["alert"] for alert in _alerts())


def test_alerts_ask_for_metrics_that_there_are() -> None:
    asked = {name for alert in _alerts() for name in _metrics(alert["expr"])}

    assert asked
    assert asked <= _known()


def test_the_thresholds_are_those_of_the_values() -> None:
    text = json.dumps([alert["expr"] for alert in _alerts()])
    settings = yaml.safe_load((CHART / "values.yaml").read_text())["monitoring"]["prometheusRule"]

    assert f"> {settings['planStuckSeconds']}" in text
    assert f"> {settings['suspendedSeconds']}" in text
    assert f"> {settings['webhookLatencySeconds']}" in text
    assert f"< {settings['certificateDays'] * 86400}" in text


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    asked = {name for query in _queries() for name in _metrics(query)}

    assert asked
    assert asked <= _known()


def test_prometheus_takes_every_query_of_the_dashboard(tmp_path: Path) -> None:
    records = [
        {"record": f"query{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(_queries())
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": records}]}))

    _promtool("check", "rules", str(file))


def test_panels_have_a_place_of_their_own_and_say_what_they_show() -> None:
    panels = _dashboard()["panels"]
    cells = [cell for panel in panels for cell in _cells(panel["gridPos"])]

    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["description"] for panel in panels if panel["type"] != "row")


def test_the_dashboard_reaches_the_cluster_as_it_is() -> None:
    config_map = named(of_set("monitoring"), "ConfigMap", "kudo-dashboard")

    assert json.loads(config_map["data"]["kudo.json"]) == _dashboard()
    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_the_service_monitor_selects_the_services_of_both() -> None:
    objects = of_set("monitoring")
    spec = named(objects, "ServiceMonitor", "kudo")["spec"]
    [endpoint] = spec["endpoints"]
    for name in ("kudo-webhook", "kudo-reconciler"):
        service = named(objects, "Service", name)
        ports = {port["name"] for port in service["spec"]["ports"]}

        assert spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert endpoint["port"] in ports


def _alerts() -> Iterator[Json]:
    for group in named(of_set("monitoring"), "PrometheusRule", "kudo")["spec"]["groups"]:
        yield from group["rules"]


def _dashboard() -> Json:
    found: Json = json.loads((CHART / "files" / "dashboard.json").read_text(encoding="utf-8"))
    return found


def _queries() -> list[str]:
    panels = _dashboard()["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def _metrics(query: str) -> set[str]:
    return {_SUFFIX.sub("", name) for name in _METRIC.findall(query)}


def _known() -> set[str]:
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    return set(_LISTED.findall(text))


def _cells(place: Json) -> Iterator[tuple[int, int]]:
    for x in range(place["x"], place["x"] + place["w"]):
        for y in range(place["y"], place["y"] + place["h"]):
            yield x, y


def _promtool(*arguments: str) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
