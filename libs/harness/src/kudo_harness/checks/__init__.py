"""What is checked against the cluster before a run: kinds, and fields of asserts."""
