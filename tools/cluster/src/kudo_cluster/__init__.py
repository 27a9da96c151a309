"""A local Kubernetes cluster, with simulated nodes or a real one, for the demo and the tests."""

from kudo_cluster.cluster import Cluster
from kudo_cluster.errors import ApiError, BuildError, ClusterError, StartError

__all__ = ["ApiError", "BuildError", "Cluster", "ClusterError", "StartError"]
