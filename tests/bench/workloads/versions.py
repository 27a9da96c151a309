"""The OperatorVersions that workloads deploy."""

from typing import Final

from tests.support import build
from tests.support.build import Json

CONFIG_MAP: Final = "config-map-1"
PARAMETERS: Final = "parameters-1"
NEXT: Final = "parameters-2"
CLEANUP: Final = "cleanup-1"
RETRIED: Final = "retried-1"
FATAL: Final = "fatal-1"
PHASES: Final = "phases-1"


def config_map_version() -> Json:
    """Return an OperatorVersion whose deploy plan applies one ConfigMap."""
    return build.operator_version(
        CONFIG_MAP,
        templates={"all.yaml": build.template(build.config_map("{{ .Name }}", key="value"))},
        plans={"deploy": build.plan({"step": ["all"]})},
    )


def parameter_versions() -> tuple[Json, Json]:
    """Return two versions of an operator with a parameter, and plans to update and to upgrade."""
    return _with_parameter(PARAMETERS), _with_parameter(NEXT)


def _with_parameter(name: str) -> Json:
    applied = build.plan({"step": ["all"]})
    made = build.config_map("{{ .Name }}", key="{{ .Params.VALUE }}", version=name)
    return build.operator_version(
        name,
        templates={"all.yaml": build.template(made)},
        plans={"deploy": applied, "update": applied, "upgrade": applied},
        parameters=[build.parameter("VALUE", "first")],
    )


def cleanup_version() -> Json:
    """Return an OperatorVersion whose cleanup plan deletes what its deploy plan applies."""
    made = build.config_map("{{ .Name }}", key="value")
    return build.operator_version(
        CLEANUP,
        templates={"all.yaml": build.template(made)},
        tasks=[
            {"name": "all", "kind": "Apply", "spec": {"resources": ["all.yaml"]}},
            {"name": "none", "kind": "Delete", "spec": {"resources": ["all.yaml"]}},
        ],
        plans={"deploy": build.plan({"step": ["all"]}), "cleanup": build.plan({"step": ["none"]})},
    )


def failing_versions() -> tuple[Json, Json]:
    """Return a version whose step is retried for ever, and one whose plan fails for good."""
    return _failing(RETRIED, wantErr=True), _failing(FATAL, wantErr=True, fatal=True)


def _failing(name: str, **dummy: bool) -> Json:
    return build.operator_version(
        name,
        templates={},
        tasks=[{"name": "all", "kind": "Dummy", "spec": dummy}],
        plans={"deploy": build.plan({"step": ["all"]})},
        parameters=[build.parameter("VALUE", "first")],
    )


def phases_version() -> Json:
    """Return an operator of three phases: a ConfigMap, a Service, a Deployment of one pod."""
    name = "{{ .Name }}"
    tasks = ("config", "service", "deployment")
    service: Json = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "clusterIP": "None", "ports": [{"port": 80}]},
    }
    return build.operator_version(
        PHASES,
        templates={
            "config.yaml": build.template(build.config_map(name, key="value")),
            "service.yaml": build.template(service),
            "deployment.yaml": build.template(build.deployment(name)),
        },
        plans={"deploy": build.plan(*({f"apply-{one}": [one]} for one in tasks))},
    )
