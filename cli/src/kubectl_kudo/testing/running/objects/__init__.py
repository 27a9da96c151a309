"""Objects of a cluster: applied, deleted, and the namespaces that they are in."""
