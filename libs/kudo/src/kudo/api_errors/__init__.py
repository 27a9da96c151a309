"""What errors of the API server mean: whether they are final, why, and what to do."""
