"""What `kubectl kudo init` installs in a cluster, checks, upgrades and removes."""
