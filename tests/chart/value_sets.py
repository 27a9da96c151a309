"""The main sets of values: what people install, each rendered into golden/."""

from typing import Any

_AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUKcqAK8Jk3ctrkMJFk0PBo0VBmvUwCgYIKoZIzj0EAwIw
-----END CERTIFICATE-----
"""

VALUE_SETS: dict[str, dict[str, Any]] = {
    "default": {},
    "cert-manager": {"tls": {"mode": "certManager"}},
    "cert-manager-issuer": {
        "tls": {
            "mode": "certManager",
            "certManager": {
                "issuerRef": {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "ours"}
            },
        }
    },
    "provided": {
        "tls": {
            "mode": "provided",
            "provided": {"secretName": "webhook-from-vault", "caBundle": _AUTHORITY},
        }
    },
    "minimal": {
        "webhook": {"replicas": 1, "topologySpreadConstraints": []},
        "reconciler": {"replicas": 1, "topologySpreadConstraints": []},
        "networkPolicy": {"enabled": False},
        "monitoring": {"scrapeAnnotations": False},
        "rbac": {"aggregateToUserRoles": False},
    },
    "monitoring": {
        "monitoring": {
            "scrapeAnnotations": False,
            "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
            "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
            "dashboard": {"enabled": True, "annotations": {"folder": "Operators"}},
        }
    },
    "compat": {"tenancy": {"mode": "compat"}},
    "cluster-admin": {"tenancy": {"mode": "compat"}, "rbac": {"clusterAdmin": True}},
    "tenants": {
        "tenancy": {
            "namespaces": ["streams", "search"],
            "clusterScopedKinds": [
                {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"]}
            ],
            "watchedKinds": ["pods", "topics.kafka.example.com", "jobs.batch"],
        }
    },
    "all-namespaces": {"tenancy": {"allNamespaces": True, "constrainedImpersonation": False}},
    "metrics-token": {
        "monitoring": {"requireToken": True, "serviceMonitor": {"enabled": True}},
    },
    "take-over": {"takeOver": True},
    "everything-set": {
        "image": {
            "registry": "registry.example.com/team",
            "tag": "1.2.3",
            "pullPolicy": "Always",
            "pullSecrets": ["registry"],
        },
        "tenancy": {"mode": "compat", "namespaces": ["streams"]},
        "rbac": {
            "extraRules": [
                {
                    "apiGroups": ["kafka.example.com"],
                    "resources": ["topics"],
                    "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
                }
            ]
        },
        "webhook": {
            "image": {"repository": "hook", "digest": "sha256:" + "0123456789abcdef" * 4},
            "replicas": 3,
            "failurePolicy": "Ignore",
            "timeoutSeconds": 5,
            "drainSeconds": 8,
            "clientCA": {"configMapName": "apiserver-client-ca", "key": "ca.pem"},
            "log": {"level": "debug", "style": "text"},
            "debugPort": 0,
            "extraArgs": ["--tls-poll=1"],
            "affinity": {"nodeAffinity": {}},
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "tolerations": [{"key": "infra", "operator": "Exists"}],
            "priorityClassName": "system-cluster-critical",
            "podAnnotations": {"note": "webhook"},
            "podLabels": {"zone": "infra"},
            "serviceAccount": {"annotations": {"note": "account"}},
        },
        "reconciler": {
            "workers": 4,
            "workerProcesses": 3,
            "workerMemory": "256Mi",
            "digestKey": {"existingSecret": "digests"},
            "fairness": {
                "namespaceWorkers": 1,
                "namespaceWorkerProcesses": 1,
                "operations": {"total": 128},
                "workerJobMemory": {"total": "1Gi", "namespace": "8Mi"},
            },
            "resources": {"limits": {"memory": "2Gi"}},
            "pipeWaiterImage": "registry.example.com/busybox",
            "leaderElection": {"leaseDuration": 30, "renewDeadline": 20, "retryPeriod": 2.5},
            "podDisruptionBudget": {"enabled": False},
            "topologySpreadConstraints": [
                {
                    "maxSkew": 2,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "kudo"}},
                }
            ],
        },
        "networkPolicy": {
            "admissionFrom": [{"ipBlock": {"cidr": "10.0.0.0/28"}}],
            "metricsFrom": [{"namespaceSelector": {"matchLabels": {"metrics": "yes"}}}],
            "egress": {"enabled": True, "apiServerPorts": [6443]},
        },
    },
}
