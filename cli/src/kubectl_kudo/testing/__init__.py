"""`kubectl kudo test`: runs test suites of packages."""
