"""What all parts of the reconciler use: clocks, errors, keys, resources, bounds of a tenant."""
