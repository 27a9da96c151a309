"""The local cluster of a test suite: what is planned for it, its client, and faults."""
