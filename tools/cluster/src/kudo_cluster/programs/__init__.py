"""The programs and container images of a cluster, built from pinned Go modules and cached."""
