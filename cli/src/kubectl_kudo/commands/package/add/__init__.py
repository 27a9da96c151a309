"""`kubectl kudo package add`: adds to a package and keeps how it is written."""
