"""Leader election with a Lease, by the rules of client-go."""
