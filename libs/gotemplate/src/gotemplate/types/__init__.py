"""Types of values and of functions: signatures, times, versions, certificates, keys."""
