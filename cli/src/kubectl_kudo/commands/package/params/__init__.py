"""`kubectl kudo package params`: parameters of a package from elsewhere."""
