"""Releases the cluster-scoped objects that Instances share."""
