"""Changes to an object before it is applied: labels, owners, hashes, managed fields."""
