"""The kinds that the tests of a cluster read and write."""

from kubeio.resource import Resource

NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
NODES = Resource("", "v1", "Node", "nodes", namespaced=False)
POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    namespaced=False,
)
INSTANCES = Resource("kudo.dev", "v1beta1", "Instance", "instances", namespaced=True)
OPERATORS = Resource("kudo.dev", "v1beta1", "Operator", "operators", namespaced=True)
VERSIONS = Resource("kudo.dev", "v1beta1", "OperatorVersion", "operatorversions", namespaced=True)
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
EVENTS = Resource("", "v1", "Event", "events", namespaced=True)
