"""Who shares cluster-scoped objects."""
