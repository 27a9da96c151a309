"""The programs of a cluster, built from pinned Go modules and cached, and container images."""
