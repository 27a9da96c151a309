"""`kubectl kudo package list`: what a package contains."""
