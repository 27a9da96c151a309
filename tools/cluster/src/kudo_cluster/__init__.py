"""A local Kubernetes control plane with simulated nodes, for the demo and the tests."""

from kudo_cluster.cluster import Cluster
from kudo_cluster.errors import ApiError, BuildError, ClusterError, StartError

__all__ = ["ApiError", "BuildError", "Cluster", "ClusterError", "StartError"]
