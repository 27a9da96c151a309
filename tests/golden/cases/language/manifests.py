"""Whole manifests, as operators have them."""

from pathlib import Path
from typing import Any

from tests.golden.case import Case

_FILES = Path(__file__).parents[2] / "manifests"

_COMMON: dict[str, Any] = {
    "Name": "orders",
    "Namespace": "shop",
    "OperatorName": "store",
    "AppVersion": "3.11.6",
    "PlanName": "deploy",
}
_STATEFULSET = {
    **_COMMON,
    "Params": {
        "NODE_COUNT": "3",
        "NODE_MEM_MIB": "4096",
        "NODE_MEM_LIMIT_MIB": "4096",
        "NODE_CPU_MC": "1000",
        "NODE_CPU_LIMIT_MC": "1000",
        "LABELS": {"team": "orders", "cost-center": 17, "critical": True},
        "POD_MANAGEMENT": "Parallel",
        "METRICS_ENABLED": "true",
        "METRICS_PORT": "7200",
        "PRIORITY_CLASS": "",
        "GRACE_SECONDS": "120",
        "TOLERATIONS": [{"key": "dedicated", "operator": "Equal", "value": "db"}],
        "ANTI_AFFINITY": "true",
        "INIT_IMAGE": "init",
        "VOLUMES": "2",
        "IMAGE": "store",
        "PULL_POLICY": "IfNotPresent",
        "ENVIRONMENT": {"TZ": "UTC", "LOG": 'in"fo', "A": "1"},
        "AUTH": "true",
        "AUTH_SECRET": "auth",
        "PORTS": [{"name": "cql", "number": 9042}, {"name": "jmx", "number": 7199}],
        "READY_DELAY": "0",
        "READY_PERIOD": "15",
        "READY_TIMEOUT": "60",
        "BACKUP": "false",
        "RESTORE": "true",
        "BACKUP_IMAGE": "backup",
        "BACKUP_PREFIX": "s3://here",
        "BACKUP_NAME": "one",
        "STORAGE_CLASS": "fast",
        "DISK_SIZE_GIB": "20",
    },
}
_CONFIG_NAMES = (
    "RACK TLS_PORT PORT ZOOKEEPER_URI ZOOKEEPER_PATH LOG_DIRS AUTO_CREATE_TOPICS AUTO_REBALANCE "
    "BACKGROUND_THREADS COMPRESSION MAX_IDLE_MS REPLICATION DELETE_TOPICS FETCH_PURGE GROUP_DELAY "
    "IMBALANCE_SECONDS IMBALANCE_PERCENT CLEANER_BACKOFF CLEANER_THREADS FLUSH_MESSAGES "
    "RETENTION_BYTES RETENTION_HOURS ROLL_HOURS SEGMENT_BYTES MESSAGE_MAX_BYTES MIN_INSYNC "
    "IO_THREADS NETWORK_THREADS PARTITIONS OFFSETS_REPLICATION QUEUED_MAX REPLICA_FETCH_BYTES "
    "REQUEST_TIMEOUT LOG_LEVEL"
)
_CONFIG = {
    **_COMMON,
    "Params": {
        **{name: name.lower() for name in _CONFIG_NAMES.split(" ")},
        "TLS": "true",
        "TLS_PLAINTEXT": "true",
        "KERBEROS": "false",
        "EXTRA": {"b.c": 1000000, "a.b": 1.5, "c": None},
    },
}
_TOPOLOGY = {
    **_COMMON,
    "Params": {
        "IMAGE": "store",
        "PORTS": [{"name": "cql", "number": 9042}, {"name": "jmx", "number": "7199"}],
        "TOPOLOGY": [
            {
                "datacenter": "North",
                "nodes": 3,
                "nodeLabels": {"zone": "n", "disk": "ssd"},
                "racks": [{"name": "r1", "zone": "n1"}, {"name": "r2", "zone": "n2"}],
            },
            {"datacenter": "South", "nodes": 2, "nodeLabels": {}, "racks": []},
        ],
    },
}


def _with(values: dict[str, Any], **parameters: object) -> dict[str, Any]:
    return {**values, "Params": {**values["Params"], **parameters}}


def manifest(name: str) -> str:
    """Read a template of tests/golden/manifests."""
    return (_FILES / f"{name}.yaml").read_text(encoding="utf-8")


REAL = {"statefulset": _STATEFULSET, "config": _CONFIG, "topology": _TOPOLOGY}

CASES = [
    *[Case(manifest(name), data=values) for name, values in REAL.items()],
    Case(manifest("statefulset"), data={}),
    Case(manifest("statefulset"), data=_with(_STATEFULSET, NODE_COUNT="x", TOLERATIONS=None)),
    Case(manifest("statefulset"), data=_with(_STATEFULSET, VOLUMES="0", PORTS=[], LABELS=None)),
    Case(manifest("statefulset"), data=_with(_STATEFULSET, PORTS=["a"])),
    Case(manifest("config"), data=_with(_CONFIG, TLS="false", KERBEROS="true", EXTRA={})),
    Case(manifest("config"), data=_with(_CONFIG, TLS="no", LOG_LEVEL="TRACE")),
    Case(manifest("config"), data=_with(_CONFIG, TLS=True)),
    Case(manifest("topology"), data=_with(_TOPOLOGY, TOPOLOGY=[])),
    Case(manifest("topology"), data=_with(_TOPOLOGY, TOPOLOGY=[{"datacenter": 1}])),
]
